"""What a learner is made of, and how a learner is chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainer.asking.open import check_settings, check_trusted
from trainer.asking.tape import Tape
from xpstore.applying import OFFLINE

if TYPE_CHECKING:
    from pathlib import Path

    from trainer.context import PipelineContext
    from trainer.interfaces import ExperienceEditor, PatchMerger, RolloutEvaluator, TrajectoryExtractor
    from trainer.model_use import ModelAccount
    from trainer.similarity import Similarity
    from xpstore.config import StoreConfig
    from xpstore.resolver import Resolver
    from xpstore.settings import LlmSettings


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """That a model is to learn, and which."""

    model: str = ""
    """As the endpoint knows it; empty = as xp.toml says."""
    record: Path | None = None
    """The folder where what is asked and answered is recorded."""
    replay: Path | None = None
    """The folder that answers instead of an endpoint."""
    changes: tuple[tuple[str, object], ...] = ()
    """What is to be otherwise than `[llm]` of xp.toml says, by key; checked (`xpstore.config.parse_llm`)."""

    def tape(self) -> Tape | None:
        """Return the recording to write or to replay, if any. Raises UsageError: there is none to replay."""
        folder = self.replay or self.record
        return Tape(folder, replays=self.replay is not None) if folder else None

    def settings(self, config: StoreConfig) -> LlmSettings:
        """Return the store's settings as this run is to have them. Raises UsageError as `check_settings`."""
        changed = {"model": self.model or config.llm.model, **dict(self.changes)}
        settings = replace(config.llm, **changed)  # type: ignore[arg-type]  # they were checked
        check_settings(settings)
        return settings

    def askable(self, config: StoreConfig) -> LlmSettings:
        """Return the settings of a model that may be asked; nothing is asked, and no key is looked for.

        Raises UsageError as `settings`, for an address that is none or that xp.toml alone sends a key to, and
        where there is nothing to replay.
        """
        settings = self.settings(config)
        check_trusted(settings, self.tape() if self.replay else None)
        return settings


@dataclass(frozen=True, slots=True)
class Strategies:
    """What learners differ in."""

    extractor: TrajectoryExtractor
    editor: ExperienceEditor
    merger: PatchMerger
    similarity: Similarity | None = None
    """What finds pages that may say the same; None = by their words."""
    evaluator: RolloutEvaluator | None = None
    """Scores what nobody scored; None = nobody does."""
    resolver: Resolver = OFFLINE
    parallel: int | None = None
    """How many rollouts are analysed at once, and cases; None = as the pipeline says."""
    model: ModelAccount | None = None
    """The account of what the model was asked; None = there is no model."""

    def tuned(self, context: PipelineContext) -> PipelineContext:
        """Return the context with as much at once as these strategies bear."""
        if self.parallel is None:
            return context
        at_once = {"parallel": self.parallel}
        return context.model_copy(
            update={
                "analysis_context": context.analysis_context.model_copy(update=at_once),
                "gradient_context": context.gradient_context.model_copy(update=at_once),
            }
        )
