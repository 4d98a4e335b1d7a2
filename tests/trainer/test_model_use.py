from __future__ import annotations

import asyncio

import pytest

from trainer.asking.asker import ModelAsker
from trainer.asking.budget import Budget
from trainer.asking.chat import ChatError, ChatReply
from trainer.asking.prompts import prompt
from trainer.asking.question import Usage
from trainer.model_use import ModelAccount, StageUse
from xpstore.settings import LlmSettings

SETTINGS = LlmSettings(model="m", prompt_price=1.0, completion_price=2.0)


class OneReply:
    """A chat that gives the same reply, or error, to everything."""

    def __init__(self, outcome: ChatReply | ChatError) -> None:
        self.outcome = outcome
        self.asked = 0

    async def chat(self, request) -> ChatReply:
        self.asked += 1
        if isinstance(self.outcome, ChatError):
            raise self.outcome
        return self.outcome


YES = ChatReply(text="yes")


def account(outcome: ChatReply | ChatError = YES):
    chat, budget = OneReply(outcome), Budget(SETTINGS)
    return ModelAccount(ModelAsker(chat, SETTINGS, budget)), budget, chat


def test_it_says_per_stage_and_in_sum_what_was_used_and_why_questions_failed():
    told, budget, _ = account()
    budget.add("extract", Usage(calls=3, prompt_tokens=1000, completion_tokens=200, cost=0.0014, repaired=1))
    budget.add("edit", Usage(reused=2))
    for stage, fault in (("extract", "length"), ("extract", "length"), ("merge", "refusal")):
        budget.add_fault(stage, fault)
    for what in ("wrapped", "retried", "wrapped"):
        budget.add_mended("edit", what)
    use = told.use()
    assert (use.name, list(use.stages)) == ("m", ["edit", "extract", "merge"])
    assert use.stages["edit"].mended == use.total.mended == {"retried": 1, "wrapped": 2}
    assert use.stages["extract"] == StageUse(
        calls=3, prompt_tokens=1000, completion_tokens=200, cost=0.0014, repaired=1, failures={"length": 2}
    )
    assert use.total.failures == {"length": 2, "refusal": 1}
    assert (use.total.calls, use.total.reused) == (3, 2)
    assert use.prompts == {name: prompt(name).version for name in ("edit", "extract", "merge")}
    assert told.as_json()["stages"]["edit"] == {"reused": 2, "mended": {"retried": 1, "wrapped": 2}}


def test_how_fast_the_endpoint_was_is_in_the_report_and_not_in_the_plans():
    """A replay makes the same records."""
    told, budget, _ = account()
    assert told.use().fewest_at_once is None

    async def crowd() -> None:
        async with budget.slots.one() as slot, budget.slots.one():
            budget.slots.turned_away(slot)

    asyncio.run(crowd())
    assert told.use().fewest_at_once == 1
    assert "fewest_at_once" not in told.as_json()


@pytest.mark.parametrize(
    ("fault", "status", "why"),
    [
        ("connection", 0, "gone"),
        ("timeout", 0, "gone"),
        ("http", 503, "gone"),
        ("http", 401, "gone"),
        ("http", 400, ""),
    ],
)
def test_an_endpoint_that_is_gone_is_told_from_one_that_does_not_like_a_question(fault, status, why):
    told, budget, chat = account(ChatError(fault, "gone", status=status))
    budget.add_fault("extract", "http")
    assert asyncio.run(told.cut_off()) == why
    assert chat.asked == 1


@pytest.mark.parametrize(("fault", "asked"), [("connection", 1), ("length", 0)])
def test_it_is_asked_only_where_a_question_failed_by_the_endpoint(fault, asked):
    told, budget, chat = account()
    budget.add_fault("edit", fault)
    assert asyncio.run(told.cut_off()) == ""
    assert chat.asked == asked
