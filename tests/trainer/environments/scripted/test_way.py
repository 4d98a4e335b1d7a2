from __future__ import annotations

import pytest

from tests.trainer.offline.world import call, say
from trainer.environments.order_desk.catalogue import schemas
from trainer.environments.order_desk.habits import CLERK
from trainer.environments.scripted.conversation import Conversation
from trainer.environments.scripted.habits import Dice, Wish
from trainer.environments.scripted.way import Step, Way

READ = call(
    "get_order", {"order_id": "O1"}, {"order_id": "O1", "customer_id": "C1", "payment_id": "P1", "total": 90}
)
CANCEL = {"order_id": "O1", "settlement": "store_credit"}


def way(*lessons: str, events: tuple = ()) -> Way:
    text = "\n".join(f"- {lesson}" for lesson in lessons)
    talk = Conversation([say("system", text), say("user", "Cancel O1!"), *events])
    wish = Wish("cancel_order", {"order_id": "O1", "settlement": "store_credit"})
    return Way(talk, {t.name: t for t in schemas()}, wish, CLERK, Dice("1", 0.0, training=False))


def test_without_lessons_the_call_itself_comes_next() -> None:
    assert way().toward("cancel_order") == Step("cancel_order", CANCEL)
    assert way().toward("fly") is None


@pytest.mark.parametrize(
    ("lesson", "step"),
    [
        ("Call `check_fraud` before you call `cancel_order`.", Step("check_fraud", {"order_id": "O1"})),
        (
            "Call `check_identity` before you call `cancel_order`.",
            Step("check_identity", {"customer_id": "C1"}),
        ),
        ("Do not call `cancel_order` when the `total` of `order_id` is more than 50.", None),
        (
            "Do not call `cancel_order` when the `total` of `order_id` is at most 50.",
            Step("cancel_order", CANCEL),
        ),
        ("Do not call `cancel_order` after `get_order`.", None),
        (
            "Do not call `cancel_order` when the argument `settlement` is `store_credit`.",
            Step("cancel_order", {**CANCEL, "settlement": "original_payment"}),
        ),
        (
            "Do not call `cancel_order` when the `tier` of the `customer_id` of `order_id` is `gold`.",
            Step("get_customer", {"customer_id": "C1"}),
        ),
        ("Wait for the user's clear yes right before you call `cancel_order`.", Step(asks=True)),
        ("Do not call `refund_order` after `get_order`.", Step("cancel_order", CANCEL)),
        ("Call `fly` before you call `cancel_order`.", Step("cancel_order", CANCEL)),
    ],
)
def test_a_lesson_changes_the_way(lesson: str, step: Step | None) -> None:
    assert way(lesson, events=(READ,)).toward("cancel_order") == step


def test_what_is_missing_for_a_call_is_looked_up_first() -> None:
    assert way().toward("check_identity") == Step("get_order", {"order_id": "O1"})
    rule = "Do not call `cancel_order` when the `tier` of the `customer_id` of `order_id` is `gold`."
    assert way(rule).toward("cancel_order") == Step("get_order", {"order_id": "O1"})


def test_what_was_prepared_is_not_prepared_again() -> None:
    lesson = "Call `check_fraud` before you call `cancel_order`."
    events = (READ, call("check_fraud", {"order_id": "O1"}, "Nothing."))
    assert way(lesson, events=events).toward("cancel_order") == Step("cancel_order", CANCEL)


def test_calls_that_need_each_other_come_to_an_end() -> None:
    lessons = (
        "Call `check_fraud` before you call `check_stock`.",
        "Call `check_stock` before you call `check_fraud`.",
    )
    assert way(*lessons).toward("check_fraud") is not None
