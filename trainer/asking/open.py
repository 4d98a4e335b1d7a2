"""Open the model of a store's settings, and close it again."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from trainer.asking.abilities import Abilities
from trainer.asking.answers import Answers
from trainer.asking.asker import ModelAsker
from trainer.asking.budget import Budget
from trainer.asking.vectors import Vectors
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from trainer.asking.chat import Embedder
    from trainer.asking.tape import Tape
    from xpstore.git import Repo
    from xpstore.settings import LlmSettings


@asynccontextmanager
async def open_asker(  # noqa: PLR0913  # what a run brings along
    settings: LlmSettings,
    *,
    tape: Tape | None = None,
    answers: Path | None = None,
    again: bool = False,
    budget: Budget | None = None,
    cache: Repo | None = None,
    abilities: Abilities | None = None,
) -> AsyncIterator[ModelAsker]:
    """Yield an asker of the settings' model; its connections end with the context.

    `answers`: the store's folder of answers on record (`xpstore.derived.answers`); `again`: ask anew what is
    on record there. `budget` and `abilities`: of a run that opens its model in several places. `cache`:
    where embeddings are kept. A tape that replays needs no endpoint, and no answers on record.

    Raises UsageError as `check_settings`, and where the endpoint has no key, or xp.toml alone says where it
    goes.
    """
    check_settings(settings)
    budget = budget or Budget(settings)
    if tape is not None and tape.replays:
        yield ModelAsker(tape, settings, budget, vectors=_vectors(tape, settings, budget, None), tape=tape)
        return
    from trainer.llm import OpenAIChat  # noqa: PLC0415  # half a second, of no use to a replay

    async with OpenAIChat(settings, budget.slots) as chat:
        vectors = _vectors(chat, settings, budget, tape, cache)
        try:
            yield ModelAsker(
                chat,
                settings,
                budget,
                vectors=vectors,
                tape=tape,
                answers=Answers(answers, again=again),
                abilities=abilities or Abilities(answers, chat.address),
            )
        finally:  # what was paid for is kept, however the run ends
            if vectors:
                vectors.save()


def check_settings(settings: LlmSettings) -> None:
    """Raise UsageError where no model is named, or its name cannot be one, or a limit would limit nothing."""
    if not settings.model.strip():
        raise UsageError("no model is named", hint='--model NAME, or `model = "NAME"` below [llm] in xp.toml')
    if not settings.model.isprintable():
        raise UsageError(f"{settings.model!a} is no name of a model: it has characters that no name has")
    if settings.max_cost_per_run and not (settings.prompt_price or settings.completion_price):
        raise UsageError(
            "max_cost_per_run in [llm] of xp.toml limits nothing: there are no prices to count with",
            hint="set prompt_price and completion_price there, per million tokens; or max_tokens_per_run",
        )


def check_trusted(settings: LlmSettings, tape: Tape | None = None) -> None:
    """Raise UsageError where `open_asker` would because xp.toml alone says where a key goes; asks nothing."""
    if tape is not None and tape.replays:
        return
    from trainer import llm  # noqa: PLC0415  # half a second, of no use to a replay

    llm.check_trusted(settings)


def _vectors(
    embedder: Embedder, settings: LlmSettings, budget: Budget, tape: Tape | None, cache: Repo | None = None
) -> Vectors | None:
    return Vectors(embedder, budget, tape=tape, cache=cache) if settings.embedding_model else None
