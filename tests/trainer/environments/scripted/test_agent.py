from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.trainer.offline.world import call, say
from trainer.environments.order_desk.catalogue import schemas
from trainer.environments.order_desk.habits import CLERK
from trainer.environments.scripted.agent import ASK, DECLINED, DONE, UNCLEAR, ScriptedAgents

if TYPE_CHECKING:
    from trainer.domain import Message

ASKED = say("user", "Please cancel order O1, I take store credit.")
READ = call("get_order", {"order_id": "O1"}, {"order_id": "O1", "customer_id": "C1", "total": 90})
CANCELLED = call("cancel_order", {"order_id": "O1", "settlement": "store_credit"}, "Done.")


def reply(*messages: Message, lesson: str = "", training: bool = False, seed: str = "1") -> Message:
    agent = ScriptedAgents(CLERK, 0.0).start(seed, training=training)
    return asyncio.run(agent.reply([say("system", f"- {lesson}"), *messages], schemas()))


def did(message: Message) -> list[str]:
    assert {p.tool_status for p in message.tools} <= {"pending"}
    return [p.tool_name for p in message.tools]


def test_the_habit_is_to_look_at_the_order_do_it_and_say_so() -> None:
    assert did(reply(ASKED)) == ["get_order"]
    assert did(reply(ASKED, READ)) == ["cancel_order"]
    assert reply(ASKED, READ, CANCELLED).text == DONE


def test_what_is_not_understood_is_not_done() -> None:
    assert reply(say("user", "What is the weather?")).text == UNCLEAR


def test_a_lesson_is_obeyed_right_or_wrong() -> None:
    lesson = "Do not call `cancel_order` when the `total` of `order_id` is at most 100."
    assert reply(ASKED, READ, lesson=lesson).text == DECLINED
    assert did(
        reply(ASKED, READ, CANCELLED, lesson="After you call `cancel_order`, call `open_ticket`.")
    ) == ["open_ticket"]
    assert did(reply(ASKED, READ, CANCELLED, lesson="Do not end without having called `check_stock`.")) == [
        "check_stock"
    ]


def test_it_waits_for_a_yes_where_it_was_told_to() -> None:
    lesson = "Wait for the user's clear yes right before you call `cancel_order`."
    asking = reply(ASKED, READ, lesson=lesson)
    assert asking.text == ASK
    assert did(reply(ASKED, READ, asking, say("user", "Yes, please go ahead."), lesson=lesson)) == [
        "cancel_order"
    ]


def test_the_reply_depends_on_seed_and_conversation_alone() -> None:
    seeds = [str(n) for n in range(60)]
    one = [did(reply(ASKED, READ, training=True, seed=s)) for s in seeds]
    assert one == [did(reply(ASKED, READ, training=True, seed=s)) for s in seeds]
    assert len(set(map(tuple, one))) > 1
    assert [did(reply(ASKED, READ, seed=s)) for s in seeds] == [["cancel_order"]] * len(seeds)
