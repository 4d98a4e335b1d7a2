from __future__ import annotations

import pytest

from tests.trainer.offline.world import call, facts, say
from trainer.offline.grammar import NoRepeat, Recover, TakeFrom

READ = call("get_order", {"order_id": "O1"}, {"order_id": "O1"})
REFUSED = call("pay", {"card_id": "C1", "order_id": "O1"}, "Error: card empty", refused=True)
OTHER_CARD = call("pay", {"card_id": "C2", "order_id": "O1"}, {})
RECOVER = Recover("pay", "card empty", "card_id", "get_order")


@pytest.mark.parametrize(
    ("messages", "verdict"),
    [
        ([REFUSED, READ, OTHER_CARD], "follows"),
        ([REFUSED, OTHER_CARD], "violates"),
        ([REFUSED, READ, REFUSED], "violates"),
        ([REFUSED], "violates"),
        ([OTHER_CARD], "silent"),
    ],
)
def test_recovering(messages: list, verdict: str) -> None:
    assert RECOVER.judge(facts(messages)) == verdict


def test_repeating_unchanged() -> None:
    assert NoRepeat("pay").judge(facts([REFUSED, REFUSED])) == "violates"
    assert NoRepeat("pay").judge(facts([REFUSED, OTHER_CARD])) == "follows"
    assert NoRepeat("pay").judge(facts([OTHER_CARD, OTHER_CARD])) == "silent"


def test_made_up_identifiers() -> None:
    lesson = TakeFrom("pay", "card_id")
    assert lesson.judge(facts([say("user", "use C2"), OTHER_CARD])) == "follows"
    assert lesson.judge(facts([OTHER_CARD])) == "violates"
    assert lesson.judge(facts([READ])) == "silent"
