"""What a pipeline learns with: a trainer that is ready, or the RFC's four parts, put together per batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from trainer.components.policy_trainer import BatchPolicyTrainer
from trainer.engine import PolicyTrainingEngine
from trainer.journal import NoJournal

if TYPE_CHECKING:
    from trainer.context import PipelineContext
    from trainer.interfaces import (
        GradientEstimator,
        PolicyOptimizer,
        PolicyTrainer,
        PolicyUpdater,
        RolloutAnalyzer,
        TrainingJournal,
    )
    from trainer.rollouts import Progress
    from xpstore.experience import ExperienceSet


class Learner(Protocol):
    """Gives a trainer for the policy as it is, and the journal that goes with it."""

    def trainer(self, policy_set: ExperienceSet, context: PipelineContext) -> PolicyTrainer:
        """Return the trainer of one batch."""
        ...

    def journal(self, context: PipelineContext) -> TrainingJournal:
        """Return where rollouts are recorded."""
        ...


@dataclass(frozen=True, slots=True)
class ReadyLearner:
    """A trainer that somebody else put together."""

    policy_trainer: PolicyTrainer
    kept_in: TrainingJournal

    def trainer(self, policy_set: ExperienceSet, context: PipelineContext) -> PolicyTrainer:
        """Return the trainer."""
        del policy_set, context
        return self.policy_trainer

    def journal(self, context: PipelineContext) -> TrainingJournal:
        """Return its journal."""
        del context
        return self.kept_in


@dataclass(frozen=True, slots=True)
class PartsLearner:
    """The RFC's parts; the updater knows where the policy lives and where its training is kept."""

    analyzer: RolloutAnalyzer
    estimator: GradientEstimator
    optimizer: PolicyOptimizer
    updater: PolicyUpdater
    progress: Progress | None = None

    def trainer(self, policy_set: ExperienceSet, context: PipelineContext) -> BatchPolicyTrainer:
        """Return a batch trainer on the updater's policy."""
        engine = PolicyTrainingEngine(
            analyzer=self.analyzer,
            estimator=self.estimator,
            optimizer=self.optimizer,
            updater=self.updater,
            policy=self.updater.policy(policy_set, context.apply_context),
            progress=self.progress,
        )
        return BatchPolicyTrainer(engine, self.journal(context))

    def journal(self, context: PipelineContext) -> TrainingJournal:
        """Return the updater's journal."""
        return self.updater.journal(context.apply_context)


def learner_of(  # noqa: PLR0913  # two forms of one thing
    *,
    policy_trainer: PolicyTrainer | None,
    journal: TrainingJournal | None,
    analyzer: RolloutAnalyzer | None,
    estimator: GradientEstimator | None,
    optimizer: PolicyOptimizer | None,
    updater: PolicyUpdater | None,
    progress: Progress | None,
) -> Learner:
    """Return the learner of a ready trainer (and its journal), or of four parts. Raises TypeError else."""
    if analyzer is not None and estimator is not None and optimizer is not None and updater is not None:
        if policy_trainer is None and journal is None:
            return PartsLearner(analyzer, estimator, optimizer, updater, progress)
    elif policy_trainer is not None and not any((analyzer, estimator, optimizer, updater)):
        return ReadyLearner(policy_trainer, journal or NoJournal())
    raise TypeError("give a policy_trainer (and its journal), or all four parts of a learner")
