"""What a training run did: `xp train --json` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import JsonValue

from trainer.domain import RolloutFailure
from trainer.model_estimate import ModelEstimate
from trainer.model_use import ModelUse
from xpstore.experience import SERVED, Experience
from xpstore.model import Frozen

if TYPE_CHECKING:
    from trainer.context import ApplyContext
    from trainer.domain import RolloutTrainingResult
    from xpstore.plan import PolicyUpdatePlan


class PlanSummary(Frozen):
    """One plan of the run."""

    plan_id: str
    commit: str
    """Empty in a dry run."""
    subject: str
    items: tuple[str, ...]
    """Names of the experiences."""
    lessons: int
    """How many edits it joins."""
    unserved: dict[str, str] = {}
    """Experience → its status, where agents are not given it."""


class TrainReport(Frozen):
    """What a training run, or one epoch of one, did."""

    run_id: str
    branch: str
    dry_run: bool
    rollouts: int
    """Rollouts read, each once."""
    passed: int
    left: int = 0
    """Rollouts that are on record and were not studied: more than one run studies (share.py)."""
    already: tuple[str, ...] = ()
    problems: tuple[dict[str, JsonValue], ...] = ()
    """Records that could not be read: file, line, error."""
    unscored: int = 0
    """Rollouts that nobody scored before the learner saw them."""
    remarks: tuple[dict[str, JsonValue], ...] = ()
    """What was read all the same, and what is wrong with the file of scores: file, line, error."""
    failures: tuple[RolloutFailure, ...] = ()
    nothing: dict[str, str] = {}
    """Rollout id → why it taught nothing."""
    refused: dict[str, str] = {}
    """Experience → why its edits could not be merged."""
    fallbacks: dict[str, str] = {}
    """Experience → why its edits were merged by rule, though a model was asked."""
    kept: dict[str, str] = {}
    """Branch → the experience whose edits wait there for a decision."""
    duplicates: tuple[dict[str, JsonValue], ...] = ()
    """What the plans say that other pages say too: the fields of `xpstore.duplicates.Duplicate`."""
    plans: tuple[PlanSummary, ...] = ()
    report: dict[str, JsonValue] = {}
    """The learner's own account: candidates, kept, dropped by reason."""
    model: ModelUse | None = None
    """What the model was asked; None where none was."""
    estimate: ModelEstimate | None = None
    """In a dry run, what a model would be asked."""

    @property
    def exit_code(self) -> int:
        """1 when every new rollout failed, or none was taken at all; else 0."""
        refused = {f.rollout for f in self.failures if f.stage == "receive"}
        failed = {f.rollout for f in self.failures if f.stage != "recall"} - refused
        fresh = self.rollouts - len(self.already) - len(refused)
        return 1 if (fresh and len(failed) >= fresh) or len(refused) == self.rollouts else 0


def train_report(  # noqa: PLR0913  # what was learned, and from what
    result: RolloutTrainingResult,
    target: ApplyContext,
    *,
    dry_run: bool = False,
    rollouts: int,
    passed: int,
    left: int = 0,
    problems: tuple[dict[str, JsonValue], ...] = (),
    unscored: int = 0,
    remarks: tuple[dict[str, JsonValue], ...] = (),
    model: ModelUse | None = None,
    estimate: ModelEstimate | None = None,
) -> TrainReport:
    """Return the report on what was learned; `left` = not even shown to the trainer."""
    # a service that trains elsewhere may name commits without their plans
    commits = (result.apply_result.commits if result.plans else ()) or ("",) * len(result.plans)
    report, refused, kept = (result.metadata.get(key) for key in ("report", "refused", "kept"))
    twice, by_rule = (result.metadata.get(key) for key in ("duplicates", "fallbacks"))
    return TrainReport(
        run_id=target.run_id,
        branch=target.branch,
        dry_run=dry_run,
        rollouts=rollouts,
        passed=passed,
        left=left + len(result.left),
        already=result.already,
        problems=problems,
        unscored=unscored,
        remarks=remarks,
        failures=result.failures,
        nothing=result.nothing,
        refused={k: str(v) for k, v in refused.items()} if isinstance(refused, dict) else {},
        fallbacks={k: str(v) for k, v in by_rule.items()} if isinstance(by_rule, dict) else {},
        kept={k: str(v) for k, v in kept.items()} if isinstance(kept, dict) else {},
        duplicates=tuple(d for d in twice if isinstance(d, dict)) if isinstance(twice, list) else (),
        plans=tuple(_summary(p, c) for p, c in zip(result.plans, commits, strict=True)),
        report=report if isinstance(report, dict) else {},
        model=model,
        estimate=estimate,
    )


def _summary(plan: PolicyUpdatePlan, commit: str) -> PlanSummary:
    return PlanSummary(
        plan_id=plan.plan_id,
        commit=commit,
        subject=plan.subject,
        items=tuple(i.target_experience_name for i in plan.items),
        lessons=len(plan.gradients),
        unserved=_unserved(plan),
    )


def _unserved(plan: PolicyUpdatePlan) -> dict[str, str]:
    texts = {i.target_experience_name: i.after_content for i in plan.items}
    pages = [Experience(name=name, text=text) for name, text in texts.items() if text is not None]
    return {page.name: page.status for page in pages if page.status not in SERVED}
