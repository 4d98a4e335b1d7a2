"""PolicyTrainingEngine: analyze → estimate → plan → apply, written once for every trainer (RFC §8.1)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from trainer.domain import EditResult, RolloutFailure
from trainer.errors import ComponentError, CutOffError
from trainer.plan_parts import refused_parts
from xpstore.errors import XpError
from xpstore.plan import PolicyApplyResult, PolicyUpdatePlan, RolloutRef

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.context import PipelineContext
    from trainer.domain import Rollout, RolloutAnalysis
    from trainer.interfaces import (
        GradientEstimator,
        GroupScope,
        ModelBehind,
        PolicyHandle,
        PolicyOptimizer,
        PolicyUpdater,
        RolloutAnalyzer,
    )
    from xpstore.experience import ExperienceSet
    from xpstore.gradient import PatchSemanticGradient

T = TypeVar("T")
R = TypeVar("R")

PLAN_ATTEMPTS = 8  # how often a plan is made anew when the branch moves between reload and apply


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and what came of it."""

    plan: PolicyUpdatePlan
    result: PolicyApplyResult


class PolicyTrainingEngine:
    """One policy update. Analysis and estimation run in parallel; no lock is held while planning."""

    def __init__(  # noqa: PLR0913  # the RFC's five parts, each replaceable
        self,
        *,
        analyzer: RolloutAnalyzer,
        estimator: GradientEstimator,
        optimizer: PolicyOptimizer,
        updater: PolicyUpdater,
        policy: PolicyHandle,
        progress: Callable[[str, int, int], None] | None = None,
        model: ModelBehind | None = None,
    ) -> None:
        """`model` is what the parts ask, where they ask one."""
        self._analyzer = analyzer
        self._estimator = estimator
        self._optimizer = optimizer
        self._updater = updater
        self._policy = policy
        self._model = model
        self._progress = progress or (lambda _stage, _done, _total: None)

    @property
    def learner(self) -> str:
        """Name and version of who proposes the edits."""
        return self._estimator.learner

    @property
    def scope(self) -> GroupScope:
        """What one estimate has to see at once."""
        return self._estimator.scope

    async def analyze(
        self, rollouts: Sequence[Rollout], context: PipelineContext
    ) -> tuple[list[RolloutAnalysis], list[RolloutFailure]]:
        """Return the analyses in order, and which rollouts could not be analysed."""
        outcomes = await self._each(
            "analyze",
            rollouts,
            lambda r: self._analyzer.analyze(r, context.analysis_context),
            context.analysis_context.parallel or context.parallel,
        )
        failures = [
            _failure(r, o) for r, o in zip(rollouts, outcomes, strict=True) if isinstance(o, Exception)
        ]
        return [o for o in outcomes if not isinstance(o, Exception)], failures

    async def estimate(
        self,
        fresh: Sequence[RolloutAnalysis],
        earlier: Sequence[RolloutAnalysis],
        policy_set: ExperienceSet,
        context: PipelineContext,
    ) -> tuple[EditResult, list[RolloutFailure]]:
        """Return the edits of all groups with something fresh, and the members of groups that failed."""
        history = await self._policy.learned(self.learner)
        gradient_context = context.gradient_context.model_copy(update={"history": history})
        groups = self._groups(fresh, earlier)
        outcomes = await self._each(
            "estimate",
            groups,
            lambda g: self._estimator.estimate(g, policy_set, gradient_context),
            context.gradient_context.parallel,
        )
        ids = {a.rollout.id for a in fresh}
        failures = [
            _failure(a.rollout, o, stage="estimate")
            for g, o in zip(groups, outcomes, strict=True)
            if isinstance(o, Exception)
            for a in g
            if a.rollout.id in ids
        ]
        return joined_edits([o for o in outcomes if not isinstance(o, Exception)], ids), failures

    async def plan_and_apply(
        self,
        gradients: Sequence[PatchSemanticGradient],
        analyses: Sequence[RolloutAnalysis],
        context: PipelineContext,
    ) -> Planned:
        """Plan on the policy as it is now, apply, and plan again when it moved meanwhile.

        Raises ComponentError when the policy keeps moving; the last plan is kept. Raises CutOffError where
        the model went away before all was answered: what it would have said of the rest belongs to the plan.
        """
        refs = {a.rollout.id: _ref(a) for a in analyses}
        for _ in range(PLAN_ATTEMPTS):
            latest = await self._policy.reload()
            bare = await self._optimizer.plan(gradients, latest, context.optimization_context)
            if self._model and (why := await self._model.cut_off()):
                raise CutOffError(
                    why, hint="what was answered is on record: the same command asks for the rest"
                )
            cited = dict.fromkeys(r for g in bare.gradients for r in g.rollouts)
            account = {"model": self._model.as_json()} if self._model else {}
            plan = bare.model_copy(
                update={
                    "learner": self.learner,
                    "rollouts": tuple(refs[r] for r in sorted(cited)),
                    "metadata": {**bare.metadata, **account},
                }
            )
            result = await self._updater.apply(plan, latest, context.apply_context)
            if not result.conflict:
                return Planned(await self._kept(gradients, plan, refs, context), result)
        branches = await self._updater.keep(plan, context.apply_context)
        kept = "".join(f"; the plan is on {b}: `xp resolve {b}`" for b in branches)
        raise ComponentError(
            f"the policy moved {PLAN_ATTEMPTS} times while a plan was made: {'; '.join(result.errors)}",
            hint=f"run it again; the rollouts are kept{kept}",
        )

    async def _kept(
        self,
        gradients: Sequence[PatchSemanticGradient],
        plan: PolicyUpdatePlan,
        refs: Mapping[str, RolloutRef],
        context: PipelineContext,
    ) -> PolicyUpdatePlan:
        """Keep the edits that could not be merged; return the plan with their branches in its metadata."""
        branches: dict[str, JsonValue] = {}
        for part in refused_parts(gradients, plan):
            rollouts = tuple(refs[r] for g in part.gradients for r in sorted(g.rollouts) if r in refs)
            whole = part.model_copy(update={"rollouts": rollouts})
            for branch in await self._updater.keep(whole, context.apply_context):
                branches[branch] = part.items[0].target_experience_name
        return plan.model_copy(update={"metadata": {**plan.metadata, "kept": branches}}) if branches else plan

    async def reload(self) -> ExperienceSet:
        """Return the policy as it is now."""
        return await self._policy.reload()

    def _groups(
        self, fresh: Sequence[RolloutAnalysis], earlier: Sequence[RolloutAnalysis]
    ) -> list[list[RolloutAnalysis]]:
        """Return what the strategy wants to see at once, each group sorted by rollout id."""
        if not fresh:
            return []
        everything = sorted([*earlier, *fresh], key=lambda a: a.rollout.id)
        match self._estimator.scope:
            case "rollout":
                return [[a] for a in fresh]
            case "case":
                cases = sorted({a.rollout.case.id for a in fresh})  # one order, whatever came first
                return [[a for a in everything if a.rollout.case.id == case] for case in cases]
            case "batch":
                return [everything]

    async def _each(
        self, stage: str, items: Sequence[T], work: Callable[[T], Awaitable[R]], parallel: int
    ) -> list[R | Exception]:
        """Run `work` on every item, at most `parallel` at once; an item's exception is its outcome."""
        gate = asyncio.Semaphore(max(1, parallel))
        done = 0

        async def one(item: T) -> R | Exception:
            nonlocal done
            async with gate:
                try:
                    return await work(item)
                except Exception as error:  # noqa: BLE001  # strategies are anybody's code: one failure is data
                    return error
                finally:
                    done += 1
                    self._progress(stage, done, len(items))

        return await asyncio.gather(*(one(item) for item in items))


def _failure(rollout: Rollout, error: Exception, stage: str = "analyze") -> RolloutFailure:
    return RolloutFailure.model_validate(
        {
            "rollout": rollout.id,
            "case": rollout.case.name,
            "stage": stage,
            "error": f"{type(error).__name__}: {error}{_advice(error)}",
        }
    )


def _advice(error: Exception) -> str:
    """Return what a person can do about it, as the end of a sentence; "" where the error does not say."""
    return f" ({error.hint})" if isinstance(error, XpError) and error.hint else ""


def joined_edits(results: Sequence[EditResult], fresh: Collection[str]) -> EditResult:
    """Join the groups' results; reasons are kept for fresh rollouts that no gradient cites."""
    gradients = tuple(g for r in results for g in r.gradients)
    cited = {rollout for g in gradients for rollout in g.rollouts}
    nothing = {k: v for r in results for k, v in r.nothing.items() if k in fresh and k not in cited}
    report = {k: v for r in results for k, v in r.report.items()}
    return EditResult(gradients=gradients, nothing=nothing, report=report)


def _ref(analysis: RolloutAnalysis) -> RolloutRef:
    return RolloutRef(
        id=analysis.rollout.id,
        passed=analysis.evaluation.passed,
        score=analysis.evaluation.score,
        case=analysis.rollout.case.name,
    )
