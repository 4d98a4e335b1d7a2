"""The components of the pipeline, in the order in which a rollout meets them (RFC §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.context import (
        ApplyContext,
        ExecutionContext,
        ExperienceGradientContext,
        LearnedHistory,
        PatchMergePolicyOptimizerContext,
        PipelineContext,
        TrajectoryAnalyzerContext,
    )
    from trainer.domain import (
        Case,
        EditResult,
        Received,
        Rollout,
        RolloutAnalysis,
        RolloutTrainingResult,
        RubricEvaluation,
    )
    from trainer.patch_merge import MergeOutcome, PatchMergeContext
    from xpstore.experience import ExperienceSet
    from xpstore.gradient import PatchSemanticGradient
    from xpstore.plan import PolicyApplyResult, PolicyUpdatePlan
    from xpstore.trajectory import Trajectory


class CaseLoader(Protocol):
    """Yields the cases of one epoch, batch by batch."""

    def batches(self, context: PipelineContext) -> AsyncIterator[list[Case]]:
        """Yield non-empty batches; every call starts from the beginning."""
        ...


class RolloutExecutor(Protocol):
    """Lets an agent work on cases under one policy snapshot."""

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        """Return one rollout per case, in order, each with `context.policy_snapshot_id`.

        A pipeline hands over one case at a time and calls concurrently. An executor that is cancelled (time
        limit, Ctrl-C) ends soon; one that blocks the event loop cannot be, so long work belongs in a thread
        or a process. An exception is an infrastructure failure of the case, not a failed case.
        """
        ...


class RolloutEvaluator(Protocol):
    """Scores a rollout that its environment did not score."""

    async def evaluate(self, rollout: Rollout) -> RubricEvaluation | None:
        """Return how the rollout came out against its case's rubric; None where that says nothing of it."""
        ...


class RolloutAnalyzer(Protocol):
    """Rollout → evaluation and trajectories."""

    async def analyze(self, rollout: Rollout, context: TrajectoryAnalyzerContext) -> RolloutAnalysis:
        """Return the analysis; an exception fails this rollout only."""
        ...


class PolicySnapshotter(Protocol):
    """Names the policy that rollouts run under."""

    async def snapshot(self, policy_set: ExperienceSet) -> str:
        """Return an id that changes when, and only when, the policy does."""
        ...


GroupScope = Literal["rollout", "case", "batch"]


class GradientEstimator(Protocol):
    """Analyses → proposed edits."""

    @property
    def learner(self) -> str:
        """Name and version of who proposes, such as `offline/1`."""
        ...

    @property
    def scope(self) -> GroupScope:
        """What one call wants to see: a rollout, the trials of a case, the batch with earlier evidence."""
        ...

    async def estimate(
        self,
        analyses: Sequence[RolloutAnalysis],
        experience_set: ExperienceSet,
        context: ExperienceGradientContext,
    ) -> EditResult:
        """Return edits against `experience_set`; RFC's single analysis is a group of one."""
        ...


class PolicyOptimizer(Protocol):
    """Proposed edits → one plan. Writes nothing."""

    async def plan(
        self,
        gradients: Sequence[PatchSemanticGradient],
        policy_set: ExperienceSet,
        context: PatchMergePolicyOptimizerContext,
    ) -> PolicyUpdatePlan:
        """Return a plan computed on `policy_set`; no items when nothing is to be done."""
        ...


class PolicyUpdater(Protocol):
    """Writes a plan, all or nothing. The only component that changes the policy."""

    async def apply(
        self, plan: PolicyUpdatePlan, policy_set: ExperienceSet, context: ApplyContext
    ) -> PolicyApplyResult:
        """Return what was written; on a guard's no, `errors` and the set that was passed in."""
        ...

    async def keep(self, plan: PolicyUpdatePlan, context: ApplyContext) -> tuple[str, ...]:
        """Keep a plan that could not be applied; return the branches it is on, none where nothing is kept."""
        ...

    def policy(self, policy_set: ExperienceSet, context: ApplyContext) -> PolicyHandle:
        """Return the live policy that plans are applied to; `policy_set` is how it was last seen."""
        ...

    def journal(self, context: ApplyContext) -> TrainingJournal:
        """Return where training on this policy is kept."""
        ...


class PolicyTrainer(Protocol):
    """Decides when to update the policy."""

    async def train_rollouts(
        self,
        rollouts: Sequence[Rollout],
        policy_set: ExperienceSet,
        context: PipelineContext,
        analyses: Sequence[RolloutAnalysis] | None = None,
    ) -> RolloutTrainingResult:
        """Learn from the rollouts; `analyses`, where given, replaces the analysis stage."""
        ...


class TrajectoryExtractor(Protocol):
    """The strategy inside `TrajectoryRolloutAnalyzer`: reads a scored rollout, writes notes."""

    async def extract(self, rollout: Rollout, evaluation: RubricEvaluation | None) -> list[Trajectory]:
        """Return the notes worth keeping; none, or NothingToNoteError with the reason = nothing to learn."""
        ...


class ExperienceEditor(Protocol):
    """The strategy inside `ExperienceGradientEstimator`: proposes edits."""

    @property
    def learner(self) -> str:
        """Name and version, as they stand in a plan's `Learner:` trailer, such as `offline/1`."""
        ...

    @property
    def scope(self) -> GroupScope:
        """What one call wants to see."""
        ...

    async def edit(
        self,
        analyses: Sequence[RolloutAnalysis],
        experience_set: ExperienceSet,
        context: ExperienceGradientContext,
    ) -> EditResult:
        """Return edits whose `before_file` is the set's file, or None where the set has none."""
        ...


class PatchMerger(Protocol):
    """The strategy inside `PatchMergePolicyOptimizer`: many edits → operations on files."""

    async def merge(self, context: PatchMergeContext) -> MergeOutcome:
        """Return the operations, and what was refused with the reason. Every patch is in one of both."""
        ...


class ModelBehind(Protocol):
    """The model that the strategies of a learner ask, as the engine sees it."""

    def as_json(self) -> dict[str, JsonValue]:
        """Return what it was asked for so far, for the record of a plan."""
        ...

    async def cut_off(self) -> str:
        """Return why it is no longer there though it was needed; "" where it is, or was not.

        Raises ComponentError where it is a recording without an answer that was needed.
        """
        ...


class PolicyHandle(Protocol):
    """The live policy behind the frozen sets: RFC's `ExperienceSet.reload()`."""

    async def reload(self) -> ExperienceSet:
        """Return the policy as it is now."""
        ...

    async def learned(self, learner: str) -> LearnedHistory:
        """Return which statements the learner wrote, and what was undone."""
        ...


class TrainingJournal(Protocol):
    """Keeps what training saw and decided, so that nothing is lost and nothing is learned twice."""

    async def record(self, rollouts: Sequence[Rollout]) -> None:
        """Make rollouts durable as they come, before anything is made of them."""
        ...

    async def of_run(self, run_id: str) -> dict[tuple[str, int], str]:
        """Return trial key → rollout id of what a training run has recorded so far (trials.py)."""
        ...

    async def rollout(self, rollout_id: str) -> Rollout:
        """Return a recorded rollout. Raises NotFoundError."""
        ...

    async def receive(self, rollouts: Sequence[Rollout], learner: str, *, again: bool) -> Received:
        """Make the rollouts durable and tell the new ones from those that were learned before."""
        ...

    async def analysed(self, analyses: Sequence[RolloutAnalysis], learner: str) -> None:
        """Make the notes durable."""
        ...

    async def nothing(self, reasons: Mapping[str, str], learner: str) -> None:
        """Record why rollouts taught nothing."""
        ...


class TrainingInbox(Protocol):
    """Where rollouts wait that come one by one: durable before anything is made of them."""

    async def admit(self, rollouts: Sequence[Rollout], learner: str, *, again: bool) -> Received:
        """Make the rollouts durable and tell the new ones; without earlier evidence."""
        ...

    async def earlier(self, fresh: Sequence[RolloutAnalysis], learner: str, scope: GroupScope) -> Received:
        """Return what has to be seen beside fresh analyses, and which of these are left out."""
        ...

    async def noted(self, learner: str) -> frozenset[str]:
        """Return the rollouts that the learner has notes on."""
        ...

    async def open(self) -> list[str]:
        """Return the rollouts that nobody has learned from and nobody is at."""
        ...

    async def take(self, rollout_id: str, learner: str) -> tuple[Rollout, RolloutAnalysis | None]:
        """Return one of these, and what the learner has made of it before. Raises NotFoundError."""
        ...

    async def close(self) -> None:
        """Leave the rest to the next one."""
        ...
