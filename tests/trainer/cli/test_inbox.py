from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import git
from tests.trainer.doubles import CaseEditor, rollout
from trainer.inbox import GitInbox
from trainer.store_door import StoreDoor
from xpstore import evidence
from xpstore.cli.main import run
from xpstore.init import init
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path


class OneByOne(CaseEditor):
    """Looks at the trials of a case at a time."""

    def __init__(self) -> None:
        super().__init__("case")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("trainer.assembly.OfflineEditor", OneByOne)
    monkeypatch.chdir(tmp_path)
    init(tmp_path / "s")
    return tmp_path / "s"


def leave(store, *rollouts, branch="train/live", close=True):
    """Receive rollouts as a streaming trainer that ends before it has learned from them, or does not end."""

    async def work():
        async with StoreDoor(store) as door:
            box = GitInbox(door, branch)
            await box.admit(rollouts, "double/1", again=False)
            if close:
                await box.close()
            return box

    return asyncio.run(work())


def xp(*args):
    return run(["-C", "s", "inbox", *args])


def answer(capsys, *args):
    code = xp(*args, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found.get("exit_code", code) == code
    return found


def test_what_is_open_is_listed(store, capsys):
    assert answer(capsys, "list") == {"open": []}
    leave(store, rollout("refund"))
    record = rollout("other")
    evidence.write(Location.find(store), [evidence.ledger_file(record.id, {"event": "received"})], "By hand")
    found = {row["rollout"]: row for row in answer(capsys, "list")["open"]}
    assert found[rollout("refund").id] == {
        "rollout": rollout("refund").id,
        "case": {"id": rollout("refund").case.id, "name": "refund"},
        "progress": "received",
        "branches": ["train/live"],
        "holder": "dead",
    }
    assert found[record.id]["holder"] == ""
    assert xp("list") == 0
    out = capsys.readouterr().out
    assert out.startswith("2 rollouts open\n")
    assert "received  refund  (for train/live; its trainer is gone)" in out
    assert "xp -C s inbox retry learns from them" in out


def test_only_some_are_listed_for_people(store, capsys):
    leave(store, *(rollout("a", n) for n in range(23)))
    xp("list")
    assert "  and 3 more (--json lists all)" in capsys.readouterr().out


def test_what_is_open_is_learned_from_where_it_was_to_go(store, capsys):
    leave(store, rollout("a"), rollout("silent"))
    leave(store, rollout("b"), branch="main")
    dry = answer(capsys, "retry", "--dry-run")
    assert {b["branch"]: len(b["rollouts"]) for b in dry["branches"]} == {"main": 1, "train/live": 2}
    assert xp("retry", "-n") == 0
    assert "Would learn from 2 rollouts on train/live" in capsys.readouterr().out
    done = answer(capsys, "retry")
    assert {b["branch"]: [p["subject"] for p in b["plans"]] for b in done["branches"]} == {
        "main": ["b: learn 1 lesson"],
        "train/live": ["a: learn 1 lesson"],
    }
    assert (done["exit_code"], done["busy"], done["closed"]) == (0, [], [])
    assert answer(capsys, "list") == {"open": []}
    assert git(store, "ls-tree", "--name-only", "train/live:experiences") == "a.md"


def test_people_are_told_what_to_type_next(store, capsys):
    leave(store, rollout("a"))
    assert xp("retry", rollout("a").id[:6], "--branch", "train/other") == 0
    out = capsys.readouterr().out
    assert "1 lesson, 1 commit on train/other" in out
    assert "xp -C s land train/other" in out
    assert xp("retry", rollout("a").id[:6]) == 0
    assert f"{rollout('a').id[:9]} is not open\nThere is nothing to learn from." in capsys.readouterr().out


def test_what_cannot_be_learned_from_stays_open_and_is_told(store, capsys):
    leave(store, rollout("bad"), rollout("a"))
    done = answer(capsys, "retry")
    assert done["exit_code"] == 1
    assert [f["case"] for b in done["branches"] for f in b["failures"]] == ["bad"]
    assert [row["case"]["name"] for row in answer(capsys, "list")["open"]] == ["bad"]


def test_what_a_trainer_is_at_is_left_to_it(store, capsys):
    held = leave(store, rollout("a"), close=False)
    assert answer(capsys, "retry")["busy"] == [rollout("a").id]
    assert xp("retry") == 0
    assert "is left to the trainer that is at it" in capsys.readouterr().out
    assert held is not None


def test_a_rollout_is_dropped_for_a_reason(store, capsys):
    leave(store, rollout("a"), rollout("b"))
    ids = [rollout("a").id, rollout("b").id]
    assert xp("drop", ids[0]) == 2
    assert xp("drop", ids[0], "--why", " ") == 2
    assert xp("drop", "ffff", "--why", "a test") == 1
    capsys.readouterr()
    assert answer(capsys, "drop", ids[0], "--why", "a test", "-n")["dropped"] == ids[:1]
    assert len(answer(capsys, "list")["open"]) == 2
    assert xp("drop", ids[0][:8], "--why", "a test") == 0
    assert capsys.readouterr().out == "Dropped 1 rollout\n"
    again = answer(capsys, "drop", *ids, "--why", "all")
    assert (again["dropped"], again["closed"]) == (ids[1:], ids[:1])
    assert xp("drop", ids[0], "--why", "x", "--dry-run") == 0
    assert "Would drop 0 rollouts" in capsys.readouterr().out
    assert answer(capsys, "list") == {"open": []}
    events = evidence.ledger(Location.find(store), ids[0])
    assert {"event": "dropped", "why": "a test"} in events


def test_status_counts_what_is_open(store, capsys):
    leave(store, rollout("a"), rollout("b"))
    assert run(["-C", "s", "status"]) == 0
    assert "2 rollouts on record, 2 not learned from yet" in capsys.readouterr().out
    assert run(["-C", "s", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["open_rollouts"] == 2
