from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from trainer.context import ExecutionContext
from trainer.domain import Case, Message, Rollout, TextPart, ToolPart
from trainer.environments.order_desk.cases import RUBRIC, suites
from trainer.environments.order_desk.desk import make
from trainer.environments.order_desk.executor import MAX_TURNS, YES, OrderDeskExecutor
from trainer.environments.order_desk.policy import draw_policy
from trainer.errors import ComponentError
from xpstore.experience import Experience, ExperienceSet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer.environments.agent import ToolSchema

CASES = suites(7, train=12, gate=0, test=0)["train"]
EMPTY = ExperienceSet(root_uri="experiences")


def execute(
    executor: OrderDeskExecutor, seed: int = 1, pages: ExperienceSet = EMPTY, **options: object
) -> list[Rollout]:
    context = ExecutionContext(policy_snapshot_id="abc", seed=seed, **options)  # type: ignore[arg-type]
    return asyncio.run(executor.execute(CASES, pages, context))


class Fixed:
    """An agent that replies by a function of the messages."""

    name, model = "fixed/1", ""

    def __init__(self, reply: Callable[[Sequence[Message]], Message]) -> None:
        self._reply = reply

    def start(self, seed: str, *, training: bool) -> Fixed:
        return self

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Message:
        return self._reply(messages)


def said(text: str) -> Message:
    return Message(role="assistant", parts=(TextPart(text=text),))


def test_one_rollout_per_case_pinned_and_scored() -> None:
    found = execute(make({}).executor())
    assert [r.case for r in found] == CASES
    assert {r.policy_snapshot_id for r in found} == {"abc"}
    assert all(r.evaluation is not None for r in found)
    assert {p.tool_status for r in found for p in r.tools} <= {"completed", "error"}


def test_equal_seeds_give_equal_rollouts_and_others_other_ids() -> None:
    executor = make({}).executor()
    one, two = execute(executor, training=True), execute(executor, training=True)
    assert [r.id for r in one] == [r.id for r in two]
    three = execute(executor, seed=2, training=True)
    assert not {r.id for r in one} & {r.id for r in three}
    assert [r.messages for r in one] != [r.messages for r in three]


def test_the_order_of_the_cases_does_not_matter() -> None:
    executor = make({}).executor()
    context = ExecutionContext(policy_snapshot_id="abc", seed=1, training=True)
    turned = asyncio.run(executor.execute(CASES[::-1], EMPTY, context))
    assert [r.id for r in turned[::-1]] == [r.id for r in execute(executor, training=True)]


def test_an_agent_reads_served_pages_only() -> None:
    text = "---\nname: {0}\nstatus: {1}\n---\n\n## Approach\n\n- An order of {0}.\n"
    pages = tuple(
        Experience(name=n, text=text.format(n, s)) for n, s in (("good", "production"), ("bad", "draft"))
    )
    found = execute(make({}).executor(), pages=ExperienceSet(root_uri="experiences", policies=pages))
    for rollout in found:
        shown = [m.text for m in rollout.messages if m.role == "system"]
        assert len(shown) == 2
        assert "An order of good." in shown[1]
        assert "bad" not in shown[1]


def test_nothing_that_decides_the_score_reaches_the_agent() -> None:
    seen: list[str] = []

    def reply(messages: Sequence[Message]) -> Message:
        seen.append(" ".join(m.model_dump_json() for m in messages))
        return said("No.")

    execute(OrderDeskExecutor(draw_policy(7), Fixed(reply)))
    assert len(seen) == len(CASES)
    for case, text in zip(CASES, seen, strict=True):
        assert str(case.input["request"]) in text
        for word in (
            "wish",
            "decision",
            "preparation",
            case.input["world"]["customers"][0]["tier"],
            case.name,
        ):  # type: ignore[index, call-overload]
            assert str(word) not in text


def test_an_agent_that_never_ends_is_stopped() -> None:
    call = ToolPart(tool_id="1", tool_name="fly", tool_status="pending")
    found = execute(
        OrderDeskExecutor(draw_policy(7), Fixed(lambda _: Message(role="assistant", parts=(call,))))
    )
    assert {len(r.tools) for r in found} == {MAX_TURNS}
    assert {p.tool_status for p in found[0].tools} == {"error"}


def test_a_question_is_answered_once() -> None:
    found = execute(OrderDeskExecutor(draw_policy(7), Fixed(lambda _: said("Shall I?"))))
    assert [m.text for m in found[0].messages][-3:] == ["Shall I?", YES, "Shall I?"]


def test_a_case_of_another_environment_is_an_error() -> None:
    other = Case(name="other", rubric=RUBRIC, input={"request": "hi"})
    context = ExecutionContext(policy_snapshot_id="abc")
    with pytest.raises(ComponentError, match="'other' is none of the order desk"):
        asyncio.run(make({}).executor().execute([other], EMPTY, context))
