from __future__ import annotations

from tests.trainer.offline.world import call, say
from trainer.environments.scripted.conversation import Conversation, lessons_in
from trainer.offline.grammar import CallAfter, CallBefore, parse_lesson
from trainer.offline.objects import Ref, Term

PAGE = """# orders

When to cancel.

## Approach

- Call `get_order` before you call
  `cancel_order`.
  1. A remark of a person.
- Be kind to everybody.

## Reflect

- After you call `cancel_order`, call `add_note`.
"""
RULE = parse_lesson("Do not call `cancel_order` when the `total` of `order_id` is more than 100.")


def talk(*more: object) -> Conversation:
    return Conversation(
        [say("system", "You help. It is 2025-06-01."), say("system", PAGE), say("user", "Hi!"), *more]
    )  # type: ignore[list-item]


def test_instructions_are_read_for_sentences_of_the_grammar() -> None:
    assert lessons_in(PAGE) == (
        CallBefore("cancel_order", "get_order"),
        CallAfter("cancel_order", "add_note"),
    )
    assert talk().lessons == lessons_in(PAGE)
    assert lessons_in("Do as you like.") == ()


def test_what_was_said_called_and_answered_is_known() -> None:
    known = talk(call("get_order", {"order_id": "O1"}, {"order_id": "O1", "customer_id": "C9"}))
    assert known.request == "Hi!"
    assert known.has_called("get_order")
    assert not known.has_called("cancel_order")
    assert (known.known("customer_id"), known.known("payment_id")) == ("C9", "")


def test_a_prospect_is_judged_as_if_the_call_was_made() -> None:
    assert RULE is not None
    blind = talk().then("cancel_order", {"order_id": "O1"})
    assert blind.judge(RULE) == "silent"
    assert blind.unknown(RULE) == [Term("value", Ref("total", ("order_id",)))]
    for total, verdict in ((50, "follows"), (200, "violates")):
        seeing = talk(call("get_order", {"order_id": "O1"}, {"order_id": "O1", "total": total}))
        prospect = seeing.then("cancel_order", {"order_id": "O1"})
        assert (prospect.judge(RULE), prospect.unknown(RULE)) == (verdict, [])
