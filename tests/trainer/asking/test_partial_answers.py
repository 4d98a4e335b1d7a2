"""Of an answer that is wrong in part, also after repair, a stage that can takes what is right."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import pytest
from pydantic import Field

from trainer.asking.answers import Answers
from trainer.asking.asker import ModelAsker
from trainer.asking.budget import Budget
from trainer.asking.chat import ChatReply, ChatRequest
from trainer.asking.question import AskError, Prompt, Question
from xpstore.model import Frozen
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from pathlib import Path


class Numbers(Frozen):
    numbers: tuple[Annotated[int, Field(ge=0, le=9)], ...] = Field(max_length=4)


@dataclass
class Saying:
    texts: list[str]
    asked: list[ChatRequest] = field(default_factory=list)

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        return ChatReply(text=self.texts.pop(0))


def odd(answer: Numbers) -> list[str]:
    return [f"{n} is odd" for n in answer.numbers if n % 2]


def question(*, partial: bool = True) -> Question[Numbers]:
    return Question("extract", "some numbers", Prompt("p", 1, "Give."), "…", Numbers, 50, odd, partial)


def ask(chat: Saying, *, partial: bool = True, folder: Path | None = None) -> Numbers:
    settings = LlmSettings(model="m")
    asker = ModelAsker(chat, settings, Budget(settings), answers=Answers(folder))
    return asyncio.run(asker.ask(question(partial=partial))).value


def test_the_model_is_told_once_and_then_the_answer_is_taken_as_it_is():
    chat = Saying(['{"numbers": [1, 2]}', '{"numbers": [3, 4]}'])
    assert ask(chat).numbers == (3, 4)
    assert "1 is odd" in chat.asked[1].messages[-1].content


def test_a_second_answer_of_no_form_leaves_the_first():
    assert ask(Saying(['{"numbers": [1, 2]}', "no"])).numbers == (1, 2)


def test_a_stage_that_cannot_gets_an_error():
    with pytest.raises(AskError, match="3 is odd"):
        ask(Saying(['{"numbers": [1, 2]}', '{"numbers": [3, 4]}']), partial=False)


def test_what_was_taken_is_on_record_as_it_is(tmp_path: Path):
    assert ask(Saying(['{"numbers": [1, 2]}', '{"numbers": [3, 4]}']), folder=tmp_path).numbers == (3, 4)
    assert ask(Saying([]), folder=tmp_path).numbers == (3, 4)
