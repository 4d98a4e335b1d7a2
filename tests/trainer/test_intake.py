from __future__ import annotations

import asyncio
import json

import pytest

from trainer import intake
from trainer.intake import take_in
from trainer.journal import GitJournal
from trainer.store_door import StoreDoor
from xpstore import evidence
from xpstore.errors import UsageError
from xpstore.init import init
from xpstore.location import Location


def line(number: int, text: str = "") -> str:
    chat = [{"role": "user", "content": f"Order {number} {text}"}, {"role": "assistant", "content": "Done."}]
    return json.dumps({"messages": chat, "score": number % 2})


@pytest.fixture
def door(tmp_path):
    init(tmp_path / "s")
    door = StoreDoor(tmp_path / "s")
    yield door
    door.close()


def take(door, *paths, dry_run=False):
    return asyncio.run(take_in(paths, GitJournal(door, "", dry_run=dry_run), None))


def on_record(tmp_path):
    return set(evidence.find_ids(Location.find(tmp_path / "s"), "rollouts", ""))


def test_every_rollout_is_on_record_once_and_broken_records_are_told(door, tmp_path, monkeypatch):
    monkeypatch.setattr(intake, "PIECE", 600)
    for name, numbers in (("a.jsonl", range(9)), ("b.jsonl", range(5, 12))):
        (tmp_path / name).write_text("\n".join([*map(line, numbers), "{"]))
    taken = take(door, tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert (len(taken.ids), taken.passed, len(taken.problems)) == (12, 6, 2)
    assert on_record(tmp_path) == taken.ids == {r.id for r in taken.share.rollouts}


def test_a_dry_run_writes_nothing(door, tmp_path):
    (tmp_path / "a.jsonl").write_text(line(1))
    assert len(take(door, tmp_path / "a.jsonl", dry_run=True).share.rollouts) == 1
    assert on_record(tmp_path) == set()


@pytest.mark.parametrize("data", ["", "{", "[]", "[1, 2]"])
def test_files_without_a_rollout(door, tmp_path, data):
    (tmp_path / "a.jsonl").write_text(data)
    with pytest.raises(UsageError, match="no rollout was found") as caught:
        take(door, tmp_path / "a.jsonl")
    assert "what can be read" in caught.value.hint
    assert on_record(tmp_path) == set()
