from __future__ import annotations

import pytest

from tests.trainer.offline.world import call, facts
from trainer.offline.condition import Atom
from trainer.offline.grammar import Avoid, Refused
from trainer.offline.objects import Ref, Term

PACKED = Atom("is", Term("value", Ref("status", ("order_id",))), "packed")
MUCH = Atom("more", Term("value", Ref("amount")), 100.0)
READ = call("get_order", {"order_id": "O1"}, {"order_id": "O1", "status": "packed"})
READ_TWO = call("get_order", {"order_id": "O2"}, {"order_id": "O2", "status": "open"})
CANCEL = call("cancel", {"order_id": "O1", "amount": 150}, {})
CANCEL_TWO = call("cancel", {"order_id": "O2", "amount": 150}, {})
REFUSED = call("cancel", {"order_id": "O1", "amount": 150}, "Error: is packed", refused=True)


@pytest.mark.parametrize(
    ("messages", "verdict"),
    [
        ([READ, CANCEL], "violates"),
        ([READ, READ_TWO, CANCEL_TWO, CANCEL], "violates"),
        ([READ_TWO, CANCEL_TWO], "follows"),
        ([READ], "follows"),
        ([READ_TWO], "silent"),
        ([CANCEL], "silent"),
        ([READ, REFUSED], "silent"),
        ([], "silent"),
    ],
)
def test_verdicts_on_what_was_read(messages: list, verdict: str) -> None:
    assert Avoid("cancel", (PACKED,)).judge(facts(messages)) == verdict


def test_all_parts_of_a_condition_count() -> None:
    lesson = Avoid("cancel", (PACKED, MUCH))
    assert lesson.judge(facts([READ, CANCEL])) == "violates"
    assert lesson.judge(facts([READ, call("cancel", {"order_id": "O1", "amount": 50}, {})])) == "follows"


def test_refused_calls_count_where_the_lesson_is_about_refusals() -> None:
    lesson = Refused("cancel", (PACKED,), "is packed")
    assert lesson.judge(facts([READ, REFUSED])) == "violates"
    assert lesson.judge(facts([READ_TWO, CANCEL_TWO])) == "follows"
    assert lesson.judge(facts([CANCEL])) == "silent"
