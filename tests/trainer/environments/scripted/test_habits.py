from __future__ import annotations

import pytest

from trainer.environments.agent import ToolSchema
from trainer.environments.scripted.habits import Dice, Habits, options_of, required, understand

PAINT = ToolSchema(
    name="paint",
    description="Paint a house.",
    parameters={
        "type": "object",
        "properties": {
            "house_id": {"type": "string"},
            "colour": {"type": "string", "enum": ["red", "dark_blue"]},
        },
        "required": ["house_id", "colour"],
    },
)
HABITS = Habits(
    requests={"paint": r"\bpaint"}, numbers={"house_id": r"\bH\d+\b"}, first_look="get_house", text="-"
)


def test_a_request_is_understood_by_its_words() -> None:
    wish = understand("Please PAINT house H12 in dark blue.", HABITS, [PAINT])
    assert wish is not None
    assert (wish.tool, wish.arguments) == ("paint", {"house_id": "H12", "colour": "dark_blue"})
    assert understand("Please build house H12.", HABITS, [PAINT]) is None
    assert understand("Please paint house H12.", HABITS, []) is None


def test_schemas_tell_options_and_what_is_required() -> None:
    assert options_of(PAINT) == {"colour": ("red", "dark_blue")}
    assert required(PAINT) == ("house_id", "colour")
    assert required(ToolSchema(name="x", description="", parameters={})) == ()


def test_whims_are_the_same_each_time_and_as_often_as_they_should() -> None:
    dice = [Dice(str(n), 0.1, training=True) for n in range(2000)]
    assert [d.below("a", 0.3) for d in dice] == [d.below("a", 0.3) for d in dice]
    assert [d.below("a", 0.3) for d in dice] != [d.below("b", 0.3) for d in dice]
    assert sum(d.below("a", 0.3) for d in dice) / len(dice) == pytest.approx(0.3, abs=0.05)


def test_nothing_new_is_tried_outside_of_training() -> None:
    steady = [Dice(str(n), 0.0, training=False) for n in range(200)]
    assert not any(d.tries("x", 0.9) or d.declines() or d.ignores("y") for d in steady)
    eager = [Dice(str(n), 0.0, training=True) for n in range(200)]
    assert any(d.tries("x", 0.1) for d in eager)
    assert any(d.declines() for d in eager)
    assert any(d.ignores("y") for d in eager)
