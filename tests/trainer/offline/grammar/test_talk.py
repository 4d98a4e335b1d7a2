from __future__ import annotations

import pytest

from tests.trainer.offline.world import call, facts, say
from trainer.offline.grammar import Confirm, LookUp

LOOK_UP = LookUp("get_customer", "order_id", "orders")
READ = call("get_customer", {"customer_id": "C"}, {"orders": ["O1"]})
CANCEL = call("cancel", {"order_id": "O1"}, {})


@pytest.mark.parametrize(
    "text",
    [
        "I don't have the order ID with me.",
        "Sorry, I don’t remember my order id right now.",
        "I can't find the order IDs",
        "I am not sure about the order id.",
        "I forgot my order-id",
    ],
)
def test_a_missing_identifier_is_understood(text: str) -> None:
    assert LOOK_UP.judge(facts([say("user", text)])) == "violates"
    assert LOOK_UP.judge(facts([say("user", text), READ])) == "follows"


@pytest.mark.parametrize(
    "text",
    [
        "My order id is O1.",
        "I don't like it. The order id is O1.",
        "I don't have time.",
        "I don't know my name, but my order id is O1.",
        "No name, the order id is O1.",
    ],
)
def test_other_talk_is_not(text: str) -> None:
    assert LOOK_UP.judge(facts([say("user", text)])) == "silent"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Yes, please.", "follows"),
        ("Please go ahead with it", "follows"),
        ("How much is it?", "violates"),
        ("Yesterday I called.", "violates"),
    ],
)
def test_a_clear_yes(text: str, verdict: str) -> None:
    assert Confirm("cancel").judge(facts([say("user", text), say("assistant", "…"), CANCEL])) == verdict


def test_nobody_asked() -> None:
    assert Confirm("cancel").judge(facts([CANCEL])) == "violates"
    assert Confirm("cancel").judge(facts([say("user", "hi")])) == "silent"
