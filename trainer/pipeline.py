"""OfflinePolicyOptimizationPipeline: on which cases, how often, a policy is trained or scored (RFC §8)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from trainer.collect import Collector
from trainer.components.policy_trainer import train_from_rollouts
from trainer.learner import learner_of
from trainer.redaction import redact_rollout
from trainer.results import PipelineEvaluationResult, PipelineResult, TrainEpochResult
from trainer.rollouts import Conditions, score_trials
from trainer.trials import trials_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer.context import PipelineContext
    from trainer.domain import Case, Rollout, RolloutTrainingResult
    from trainer.interfaces import (
        CaseLoader,
        GradientEstimator,
        PolicyOptimizer,
        PolicySnapshotter,
        PolicyTrainer,
        PolicyUpdater,
        RolloutAnalyzer,
        RolloutExecutor,
        TrainingJournal,
    )
    from trainer.rollouts import Progress
    from xpstore.evaluation import TrialFailure, TrialResult
    from xpstore.experience import ExperienceSet


class OfflinePolicyOptimizationPipeline:
    """Cases → rollouts → training, or scores.

    Learns with the four parts of RFC §17, or with a `policy_trainer` that is ready and its `journal`. Every
    rollout is pinned to the snapshot of its batch; what goes wrong with one is reported under its case.
    """

    def __init__(  # noqa: PLR0913  # the RFC's parts, each replaceable
        self,
        *,
        snapshotter: PolicySnapshotter,
        rollout_executor: RolloutExecutor,
        policy_trainer: PolicyTrainer | None = None,
        journal: TrainingJournal | None = None,
        rollout_analyzer: RolloutAnalyzer | None = None,
        gradient_estimator: GradientEstimator | None = None,
        policy_optimizer: PolicyOptimizer | None = None,
        policy_updater: PolicyUpdater | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._learner = learner_of(
            policy_trainer=policy_trainer,
            journal=journal,
            analyzer=rollout_analyzer,
            estimator=gradient_estimator,
            optimizer=policy_optimizer,
            updater=policy_updater,
            progress=progress,
        )
        self._snapshotter = snapshotter
        self._executor = rollout_executor
        self._progress = progress

    async def train(
        self,
        case_loader: CaseLoader,
        policy_set: ExperienceSet,
        context: PipelineContext,
        *,
        on_epoch: Callable[[TrainEpochResult], None] | None = None,
    ) -> PipelineResult:
        """Train for `context.max_epochs` passes over the cases; stop after one that changed nothing.

        `on_epoch` hears of every epoch as it ends.
        A run that was interrupted and has the same run id takes up what it had recorded. Raises XpError where
        the store, not a rollout, is the trouble; what was applied and recorded until then stays.
        """
        journal, run_id = self._learner.journal(context), context.apply_context.run_id
        collector = await Collector.resume(self._executor, journal, run_id, self._progress)
        epochs: list[TrainEpochResult] = []
        stopped = ""
        for epoch in range(context.max_epochs):
            done, policy_set = await self._epoch(epoch, case_loader, collector, policy_set, context)
            epochs.append(done)
            if on_epoch:
                on_epoch(done)
            if not done.changed and epoch + 1 < context.max_epochs:
                stopped = f"epoch {epoch} changed nothing, so the next one would meet the same policy"
                break
        return PipelineResult(policy_set=policy_set, epochs=tuple(epochs), stopped=stopped)

    async def eval(  # what an evaluation may want to say
        self,
        case_loader: CaseLoader,
        policy_set: ExperienceSet,
        context: PipelineContext,
        *,
        trials: int | None = None,
        stage: str = "evaluate",
    ) -> PipelineEvaluationResult:
        """Score the policy: no analysis, nothing written. A rollout without evaluation fails under its case.

        `trials` per case, `context.trials` if not given. Progress is reported under `stage`.
        """
        snapshot_id = await self._snapshotter.snapshot(policy_set)
        conditions = _conditions(context, policy_set, snapshot_id, stage=stage, training=False)
        results: list[TrialResult] = []
        failures: list[TrialFailure] = []
        async for cases in case_loader.batches(context):
            batch = trials_of(cases, trials or context.trials, context.seed, training=False)
            scored, failed = await score_trials(self._executor, batch, conditions, self._progress)
            results += scored
            failures += failed
        return PipelineEvaluationResult(
            policy_snapshot_id=snapshot_id, results=tuple(results), failures=tuple(failures)
        )

    async def train_from_rollouts(
        self, rollouts: Sequence[Rollout], policy_set: ExperienceSet, context: PipelineContext
    ) -> RolloutTrainingResult:
        """Learn from rollouts that something else produced; secrets in them are masked first.

        Raises RolloutError for one without a case.
        """
        clean = await asyncio.to_thread(lambda: [redact_rollout(r) for r in rollouts])
        trainer = self._learner.trainer(policy_set, context)
        return await train_from_rollouts(trainer, clean, policy_set, context)

    async def _epoch(
        self,
        epoch: int,
        case_loader: CaseLoader,
        collector: Collector,
        policy_set: ExperienceSet,
        context: PipelineContext,
    ) -> tuple[TrainEpochResult, ExperienceSet]:
        """Return what one pass over the cases did, and the policy after it."""
        before = _content(policy_set)
        done = TrainEpochResult(epoch=epoch)
        async for cases in case_loader.batches(context):
            batch, policy_set = await self._batch(epoch, cases, collector, policy_set, context)
            done = done.plus(batch)
        changed = done.changed or _content(policy_set) != before
        return done.model_copy(update={"changed": changed}), policy_set

    async def _batch(
        self,
        epoch: int,
        cases: Sequence[Case],
        collector: Collector,
        policy_set: ExperienceSet,
        context: PipelineContext,
    ) -> tuple[TrainEpochResult, ExperienceSet]:
        """Roll out, train: RFC §8.1's inner loop."""
        snapshot_id = await self._snapshotter.snapshot(policy_set)
        stage = f"train epoch {epoch}"
        conditions = _conditions(context, policy_set, snapshot_id, stage=stage, training=True)
        first = epoch * context.trials
        trials = trials_of(cases, context.trials, context.seed, training=True, first=first)
        collected = await collector.collect(trials, conditions, epoch)
        rollouts = collected.share.rollouts
        trained: RolloutTrainingResult | None = None
        if rollouts:
            trainer = self._learner.trainer(policy_set, context)
            trained = await trainer.train_rollouts(rollouts, policy_set, _scored_only(context))
            policy_set = trained.updated_policy_set
        return collected.result(epoch, trained), policy_set


def _conditions(
    context: PipelineContext, policy_set: ExperienceSet, snapshot_id: str, *, stage: str, training: bool
) -> Conditions:
    return Conditions(
        policy_set=policy_set,
        snapshot_id=snapshot_id,
        training=training,
        metadata=context.execution_metadata,
        parallel=context.parallel,
        time_limit=context.time_limit,
        stage=stage,
    )


def _scored_only(context: PipelineContext) -> PipelineContext:
    """Return the context of rollouts that we ran: one without a score is a fault, not a success."""
    analysis = context.analysis_context.model_copy(update={"fallback": False})
    return context.model_copy(update={"analysis_context": analysis})


def _content(policy_set: ExperienceSet) -> list[tuple[str, str]]:
    return [(page.name, page.blob) for page in policy_set.policies]
