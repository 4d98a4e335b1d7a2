"""The learner without a model, put together for a branch of a store: `xp train` in both of its forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.memory_store import BranchPolicy
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_trainer import BatchPolicyTrainer
from trainer.components.policy_updater import DryRunPolicyUpdater, GitPolicyUpdater
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.engine import PolicyTrainingEngine
from trainer.journal import GitJournal
from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor
from trainer.offline.merger import StatementMerger

if TYPE_CHECKING:
    from trainer.context import ApplyContext
    from trainer.rollouts import Progress
    from trainer.store_door import StoreDoor
    from xpstore.settings import Limits

LEARNER = OfflineEditor.learner


def offline_trainer(
    door: StoreDoor, target: ApplyContext, *, preview: Limits | None = None, progress: Progress | None = None
) -> BatchPolicyTrainer:
    """Return the trainer of the target's branch; with `preview` (the store's limits) it writes nothing."""
    engine = PolicyTrainingEngine(
        analyzer=TrajectoryRolloutAnalyzer(OfflineExtractor()),
        estimator=ExperienceGradientEstimator(OfflineEditor()),
        optimizer=PatchMergePolicyOptimizer(StatementMerger()),
        updater=DryRunPolicyUpdater(preview) if preview else GitPolicyUpdater(door),
        policy=BranchPolicy(door, target.branch, target.start),
        progress=progress,
    )
    return BatchPolicyTrainer(engine, GitJournal(door, target.branch, dry_run=preview is not None))
