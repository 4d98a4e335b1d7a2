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
from trainer.asking.question import AskError, Prompt, Question, nothing
from xpstore.model import Frozen
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Callable
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


def has_even(answer: Numbers) -> bool:
    return any(n % 2 == 0 for n in answer.numbers)


def question(stands: Callable[[Numbers], bool]) -> Question[Numbers]:
    return Question("extract", "some numbers", Prompt("p", 1, "Give."), "…", Numbers, 50, odd, stands)


def ask(chat: Saying, *, stands: Callable[[Numbers], bool] = has_even, folder: Path | None = None) -> Numbers:
    settings = LlmSettings(model="m")
    asker = ModelAsker(chat, settings, Budget(settings), answers=Answers(folder))
    return asyncio.run(asker.ask(question(stands))).value


def test_the_model_is_told_once_and_then_the_answer_is_taken_as_it_is():
    chat = Saying(['{"numbers": [1, 2]}', '{"numbers": [3, 4]}'])
    assert ask(chat).numbers == (3, 4)
    assert "1 is odd" in chat.asked[1].messages[-1].content


def test_a_second_answer_of_no_form_leaves_the_first():
    assert ask(Saying(['{"numbers": [1, 2]}', "no"])).numbers == (1, 2)


def test_a_stage_that_cannot_gets_an_error():
    with pytest.raises(AskError, match="3 is odd"):
        ask(Saying(['{"numbers": [1, 2]}', '{"numbers": [3, 4]}']), stands=nothing)


def test_what_was_taken_is_on_record_as_it_is(tmp_path: Path):
    assert ask(Saying(['{"numbers": [1, 2]}', '{"numbers": [3, 4]}']), folder=tmp_path).numbers == (3, 4)
    assert ask(Saying([]), folder=tmp_path).numbers == (3, 4)


def test_a_first_answer_of_which_something_stands_is_better_than_a_second_without():
    assert ask(Saying(['{"numbers": [1, 2]}', '{"numbers": [3, 5]}'])).numbers == (1, 2)


def test_what_cannot_be_used_is_not_kept_and_the_next_run_asks_anew(tmp_path: Path):
    with pytest.raises(AskError, match="3 is odd"):
        ask(Saying(['{"numbers": [1]}', '{"numbers": [3]}']), folder=tmp_path)
    assert ask(Saying(['{"numbers": [4]}']), folder=tmp_path).numbers == (4,)
