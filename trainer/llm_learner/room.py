"""How much data a question can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from trainer.asking.asker import first_request
from trainer.asking.budget import prompt_tokens
from trainer.asking.question import Prompt, Question
from xpstore.model import Frozen

if TYPE_CHECKING:
    from trainer.asking.question import Stage

T = TypeVar("T", bound=Frozen)

CONTEXT = 16_000
"""Tokens that a question and its answer may have where nobody says otherwise."""
LEAST = 256
"""Tokens of data without which no question makes sense: whether so many fit is the endpoint's to say."""
MARKS = 320
"""Tokens of the marks around the data of a question."""


def room(stage: Stage, asked: Prompt, form: type[Frozen], max_tokens: int, context_tokens: int) -> int:
    """Return the tokens that are left for data beside the instructions, the form and the answer."""
    question = Question(stage=stage, about="", prompt=asked, content="", form=form, max_tokens=max_tokens)
    told = prompt_tokens(first_request(question, ""))
    return max(LEAST, context_tokens - max_tokens - told - MARKS)


def fits(question: Question[T], context_tokens: int) -> bool:
    """Return whether a question and its answer have at most so many tokens."""
    return prompt_tokens(first_request(question, "")) + question.max_tokens <= context_tokens
