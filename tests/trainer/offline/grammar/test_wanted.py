from __future__ import annotations

from tests.trainer.offline.world import call, facts
from trainer.offline.grammar import MakeSure, SeeThrough
from trainer.offline.grammar.wanted import GENERAL

WANTED = [{"name": "cancel", "arguments": {"order_id": "O1"}}, {"name": "get_order", "arguments": {}}]
CANCEL = call("cancel", {"order_id": "O1"}, {})
OTHER = call("cancel", {"order_id": "O2"}, {})
REFUSED = call("cancel", {"order_id": "O1"}, "Error: no", refused=True)


def test_a_request_is_seen_through() -> None:
    lesson = SeeThrough("cancel")
    assert lesson.judge(facts([CANCEL], expected=WANTED)) == "follows"
    assert lesson.judge(facts([], expected=WANTED)) == "violates"
    assert lesson.judge(facts([REFUSED], expected=WANTED)) == "violates"
    assert lesson.judge(facts([], expected=[])) == "silent"
    assert lesson.judge(facts([])) == "silent"


def test_every_change_that_was_asked_for() -> None:
    lesson = SeeThrough("")
    both = [*WANTED, {"name": "refund", "arguments": {}}]
    assert lesson.judge(facts([CANCEL], expected=WANTED)) == "follows"  # reading is no change
    assert lesson.judge(facts([CANCEL], expected=both)) == "violates"
    assert lesson.judge(facts([CANCEL], expected=[WANTED[1]])) == "silent"
    assert lesson.page == GENERAL
    assert SeeThrough("cancel").page == "cancel"


def test_the_argument_is_what_was_asked_for() -> None:
    lesson = MakeSure("cancel", "order_id")
    assert lesson.judge(facts([CANCEL], expected=WANTED)) == "follows"
    assert lesson.judge(facts([CANCEL, OTHER], expected=WANTED)) == "violates"
    assert lesson.judge(facts([REFUSED], expected=WANTED)) == "silent"
    assert lesson.judge(facts([OTHER])) == "silent"
