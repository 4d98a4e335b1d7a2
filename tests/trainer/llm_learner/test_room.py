from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trainer.asking.question import Prompt, Question
from trainer.llm_learner.room import LEAST, MARKS, fits, room
from xpstore.model import Frozen


class Word(Frozen):
    word: Annotated[str, Field(max_length=9)]


def left(context: int, system: str = "Say a word.", answer: int = 100) -> int:
    return room("extract", Prompt("p", 1, system), Word, answer, context)


def test_instructions_and_answer_take_room():
    assert left(8_000) - left(8_000, answer=600) == 500
    assert left(8_000) - left(8_000, system="Say a word." + "abc" * 50) == 50
    assert 7_000 < left(8_000) < 7_900


def test_there_is_always_room_for_something():
    assert left(100) == LEAST


def test_what_fills_the_room_fits_and_a_token_more_does_not():
    def asked(tokens: int) -> Question[Word]:
        return Question("extract", "", Prompt("p", 1, "Say."), "错" * tokens, Word, 100)

    tokens = left(2_000, system="Say.") + MARKS
    assert fits(asked(tokens), 2_000)
    assert not fits(asked(tokens + 1), 2_000)
