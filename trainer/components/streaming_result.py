"""What came of rollouts in a stream: one rollout's part in an update, and several results as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import RolloutTrainingResult
from xpstore.plan import PolicyApplyResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.domain import RolloutAnalysis, RolloutFailure
    from trainer.outcome import Outcome
    from xpstore.experience import ExperienceSet
    from xpstore.plan import PolicyUpdatePlan


def without_update(
    latest: ExperienceSet,
    *,
    failures: tuple[RolloutFailure, ...] = (),
    already: tuple[str, ...] = (),
    nothing: dict[str, str] | None = None,
    analyses: tuple[RolloutAnalysis, ...] = (),
) -> RolloutTrainingResult:
    """Return that no update was made."""
    return RolloutTrainingResult(
        apply_result=PolicyApplyResult(updated_policy_set=latest),
        failures=failures,
        already=already,
        nothing=nothing or {},
        analyses=analyses,
    )


def part_of(
    analysis: RolloutAnalysis,
    outcomes: Sequence[Outcome],
    nothing: dict[str, str],
    recalled: Sequence[RolloutFailure],
) -> RolloutTrainingResult:
    """Return a rollout's part in an update, which may have been made in several rounds.

    Gradients and plans are those that cite the rollout; `apply_result` is the whole update.
    """
    own = analysis.rollout.id
    applied = _applied([outcome.planned.result for outcome in outcomes])
    missed = (f for outcome in outcomes for f in outcome.missed if f.rollout == own)
    plans = tuple(plan for plan in applied.plans if _cites(plan, own))
    why = nothing.get(own) or ("" if plans else outcomes[-1].waiting.get(own, ""))
    return RolloutTrainingResult(
        analyses=(analysis,),
        gradients=tuple(g for outcome in outcomes for g in outcome.edits.gradients if own in g.rollouts),
        plans=plans,
        apply_result=applied,
        failures=(*recalled, *missed),
        nothing={own: why} if why else {},
        metadata=outcomes[-1].metadata,
    )


def joined(results: Sequence[RolloutTrainingResult], latest: ExperienceSet) -> RolloutTrainingResult:
    """Return the results of several rollouts as one; what several of them have is there once."""
    if not results:
        return without_update(latest)
    applied = _applied([result.apply_result for result in results])
    return RolloutTrainingResult(
        analyses=tuple(a for result in results for a in result.analyses),
        gradients=tuple({g.id: g for result in results for g in result.gradients}.values()),
        plans=applied.plans,
        apply_result=applied.model_copy(update={"updated_policy_set": latest}),
        failures=tuple(dict.fromkeys(f for result in results for f in result.failures)),
        nothing={i: why for result in results for i, why in result.nothing.items()},
        already=tuple(i for result in results for i in result.already),
        left=tuple(i for result in results for i in result.left),
        metadata=next((r.metadata for r in reversed(results) if r.metadata), {}),
    )


def _applied(results: Sequence[PolicyApplyResult]) -> PolicyApplyResult:
    """Return what was applied, one after the other; the same update twice is one."""
    commits: dict[tuple[str, str], PolicyUpdatePlan] = {}
    for result in results:
        ids = result.commits or ("",) * len(result.plans)
        commits.update({(plan.plan_id, commit): plan for plan, commit in zip(result.plans, ids, strict=True)})
    landed = tuple(commit for _, commit in commits)
    return PolicyApplyResult(
        updated_policy_set=results[-1].updated_policy_set,
        written_uris=tuple(dict.fromkeys(uri for r in results for uri in r.written_uris)),
        deleted_uris=tuple(dict.fromkeys(uri for r in results for uri in r.deleted_uris)),
        errors=tuple(dict.fromkeys(error for r in results for error in r.errors)),
        commits=landed if any(landed) else (),
        plans=tuple(commits.values()),
        metadata={key: value for r in results for key, value in r.metadata.items()},
    )


def _cites(plan: PolicyUpdatePlan, rollout: str) -> bool:
    return any(ref.id == rollout for ref in plan.rollouts)
