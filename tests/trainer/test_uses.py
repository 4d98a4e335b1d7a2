from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import make_store
from tests.trainer.doubles import rollout
from trainer.domain import READ, Message, Rollout, ToolPart
from trainer.inbox import GitInbox
from trainer.journal import GitJournal
from trainer.store_door import StoreDoor
from trainer.uses import read_in, used_files
from xpstore import evidence

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue


def calling(name: str, arguments: JsonValue, status: str = "completed") -> Rollout:
    part = ToolPart.model_validate(
        {"tool_id": "1", "tool_name": name, "tool_input": arguments, "tool_status": status}
    )
    return rollout().model_copy(update={"messages": (Message(role="assistant", parts=(part,)),)})


@pytest.mark.parametrize(
    ("name", "arguments", "names"),
    [
        ("read_experience", {"name": "refund"}, {"refund"}),
        ("mcp__xp__read_experience", {"name": "退款"}, {"退款"}),
        ("desk.read_experience", {"names": ["a", "b"]}, {"a", "b"}),
        ("read_experience", {"uri": "viking://user/memories/experiences/refund.md"}, {"refund"}),
        ("read_experience", {"name": "../../etc/passwd "}, set()),
        ("read_experience", {"name": "x" * 500}, set()),
        ("read_experience", {"name": 7, "path": ["a\x00", None]}, set()),
        ("read_experience", "refund", set()),
        ("spread_experience", {"name": "refund"}, None),
        ("read_experience_of_life", {"name": "refund"}, None),
        ("search_experience", {"query": "refund"}, None),
    ],
)
def test_calls_of_a_transcript(name, arguments, names):
    assert read_in(calling(name, arguments)) == names
    if names is not None:
        assert read_in(calling(name, arguments, "error")) == set()


def test_what_a_user_calls_no_agent_has_read():
    (message,) = calling("read_experience", {"name": "refund"}).messages
    theirs = rollout().model_copy(update={"messages": (message.model_copy(update={"role": "user"}),)})
    assert read_in(theirs) is None


def test_an_executor_says_what_it_gave():
    known = rollout().model_copy(update={"metadata": {READ: ["b", "a", "a", 1, "no name"]}})
    assert read_in(known) == {"a", "b"}
    assert read_in(known.model_copy(update={"metadata": {READ: []}})) == set()
    assert read_in(known.model_copy(update={"metadata": {READ: "a"}})) is None
    assert used_files(rollout()) == []
    (file,) = used_files(known)
    assert json.loads(file.data) == {"event": "used", "experiences": ["a", "b"], "passed": True}
    (unscored,) = used_files(known.model_copy(update={"evaluation": None, "policy_snapshot_id": "a" * 40}))
    assert json.loads(unscored.data) == {"event": "used", "experiences": ["a", "b"], "snapshot": "a" * 40}


def test_what_was_read_goes_on_record_with_the_rollout(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    first, second = (rollout(trial=n).model_copy(update={"metadata": {READ: [f"p{n}"]}}) for n in (1, 2))

    async def work() -> None:
        async with StoreDoor(tmp_path / "s") as door:
            await GitJournal(door, "train/x").record([first])
            box = GitInbox(door, "train/live")
            await box.admit([second], "double/1", again=False)
            await box.close()

    asyncio.run(work())
    for number, one in enumerate((first, second), 1):
        events = {e["event"]: e for e in evidence.ledger(loc, one.id)}
        assert events["used"]["experiences"] == [f"p{number}"]
        assert "received" in events
    assert len(list(loc.repo.first_parents(str(evidence.tip(loc))))) == 2  # no commit of their own
