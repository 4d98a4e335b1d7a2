"""A form, a question about it, and an asker in one line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pydantic import Field

from trainer.asking.budget import Budget
from trainer.asking.open import open_asker
from trainer.asking.question import AskError, Prompt, Question
from xpstore.model import Frozen
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.llm_server import LlmServer

GOOD = {"lesson": "Ask first.", "confidence": 7}


class Lesson(Frozen):
    lesson: str = Field(max_length=40)
    confidence: int = Field(ge=0, le=10)


def question(content: str = "what was said", **changes) -> Question[Lesson]:
    system = "Stage: extract\n\nFind the lesson."
    values = {
        "stage": "extract",
        "about": "rollout ab12",
        "prompt": Prompt("extract", 1, system),
        "content": content,
        "form": Lesson,
        "max_tokens": 200,
    }
    return Question(**{**values, **changes})


def settings_of(server: LlmServer, **changes) -> LlmSettings:
    """Settings that give up at once, and wait long enough on a busy machine."""
    return LlmSettings(
        **{"model": "scripted", "base_url": server.url, "retries": 0, "timeout": 20.0, **changes}
    )


def ask_all(settings: LlmSettings, questions: Sequence[Question], **options) -> tuple[list, Budget]:
    """Ask all side by side; an AskError is a result."""
    budget = options.pop("budget", None) or Budget(settings)

    async def run() -> list:
        async with open_asker(settings, budget=budget, **options) as asker:
            return await asyncio.gather(*(_one(asker, q) for q in questions))

    return asyncio.run(run()), budget


async def _one(asker, asked: Question) -> object:
    try:
        return await asker.ask(asked)
    except AskError as error:
        return error
