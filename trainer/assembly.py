"""The learners, put together for a branch of a store: `xp train` in both of its forms.

The one without a model is there at once; the one with a model lives as long as its connections.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from trainer.asking.open import open_asker
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.memory_store import BranchPolicy
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_trainer import BatchPolicyTrainer
from trainer.components.policy_updater import DryRunPolicyUpdater, GitPolicyUpdater
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.engine import PolicyTrainingEngine
from trainer.journal import GitJournal
from trainer.llm_learner.claims import learner_name
from trainer.llm_learner.editor import LLMEditor
from trainer.llm_learner.extractor import LLMExtractor
from trainer.llm_learner.judge import RubricJudge
from trainer.llm_learner.merger import LlmMerger
from trainer.llm_learner.resolver import LLMResolver
from trainer.model_use import ModelAccount
from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor
from trainer.offline.merger import StatementMerger
from trainer.similarity import EmbeddingSimilarity, TextSimilarity
from trainer.strategies import Strategies
from xpstore.derived import answers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from trainer.context import ApplyContext
    from trainer.rollouts import Progress
    from trainer.store_door import StoreDoor
    from trainer.strategies import ModelChoice
    from xpstore.config import StoreConfig
    from xpstore.settings import Limits


def learner_of(config: StoreConfig, choice: ModelChoice | None) -> str:
    """Return the learner's name and version, without connecting to anything. Raises UsageError: no model."""
    return learner_name(choice.settings(config).model) if choice else OfflineEditor.learner


@asynccontextmanager
async def learning(
    door: StoreDoor, choice: ModelChoice | None, *, again: bool = False
) -> AsyncIterator[Strategies]:
    """Open the learner of this choice; None = the one without a model. `again` asks anew what is on record.

    Raises UsageError where no model is named, there is no key, or nothing to replay.
    """
    if choice is None:
        yield Strategies(OfflineExtractor(), OfflineEditor(), StatementMerger())
        return
    config, repo = await door.call(lambda location: (location.config, location.repo))
    settings, tape = choice.settings(config), choice.tape()
    salt = tape.salt(config.id) if tape else config.id
    room = settings.context_tokens
    async with open_asker(settings, tape=tape, answers=answers(repo), again=again, cache=repo) as asker:
        vectors = asker.vectors
        similar = EmbeddingSimilarity(vectors, settings.embedding_model) if vectors else TextSimilarity()
        yield Strategies(
            extractor=LLMExtractor(asker, room, salt),
            editor=LLMEditor(asker, room, similar, salt),
            merger=LlmMerger(asker, settings.max_gradients, room, config.limits, salt),
            similarity=similar,
            evaluator=RubricJudge(asker, room, salt),
            resolver=LLMResolver.on_loop(asker, asyncio.get_running_loop(), context_tokens=room, salt=salt),
            parallel=settings.parallel,
            model=ModelAccount(asker),
        )


def engine_of(
    door: StoreDoor,
    target: ApplyContext,
    strategies: Strategies,
    *,
    preview: Limits | None = None,
    progress: Progress | None = None,
) -> PolicyTrainingEngine:
    """Return the engine of the target's branch; with `preview` (the store's limits) it writes nothing."""
    updater = DryRunPolicyUpdater(preview) if preview else GitPolicyUpdater(door, strategies.resolver)
    return PolicyTrainingEngine(
        analyzer=TrajectoryRolloutAnalyzer(strategies.extractor, strategies.evaluator),
        estimator=ExperienceGradientEstimator(strategies.editor),
        optimizer=PatchMergePolicyOptimizer(strategies.merger, strategies.similarity),
        updater=updater,
        policy=BranchPolicy(door, target.branch, target.start),
        progress=progress,
        model=strategies.model,
    )


def trainer_of(
    door: StoreDoor,
    target: ApplyContext,
    strategies: Strategies,
    *,
    preview: Limits | None = None,
    progress: Progress | None = None,
) -> BatchPolicyTrainer:
    """Return the trainer of whole batches on the target's branch; arguments as for `engine_of`."""
    engine = engine_of(door, target, strategies, preview=preview, progress=progress)
    return BatchPolicyTrainer(engine, GitJournal(door, target.branch, dry_run=preview is not None))
