from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore.evidence import EvidenceFile
from xpstore.location import Location
from xpstore.wanted import Wanted, prepare

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path)


def wanted(loc: Location, **fields: object) -> Wanted:
    prepared = tuple(prepare(loc, [make_plan(loc, upsert("frist-über", page("frist-über")))]))
    values = {
        "prepared": prepared,
        "ref": loc.main_ref,
        "start": "",
        "extra": (EvidenceFile("cases/ab/x", b"{}"),),
    }
    return Wanted(**{**values, **fields})


def test_another_process_reads_what_was_wanted(loc: Location) -> None:
    mine = wanted(loc)
    theirs = mine.decode(loc, mine.encode(loc))
    assert theirs == mine
    assert theirs.prepared[0].plan.plan_id == mine.prepared[0].plan.plan_id


def test_bytes_that_are_no_text_stay_with_their_owner(loc: Location) -> None:
    assert wanted(loc, extra=(EvidenceFile("cases/ab/x", b"\xff"),)).encode(loc) == b""


@pytest.mark.parametrize("fields", [{"ref": "refs/heads/train/x"}, {"start": "0" * 40}])
def test_what_is_for_another_branch_is_left_alone(loc: Location, fields: dict[str, str]) -> None:
    assert wanted(loc).decode(loc, wanted(loc, **fields).encode(loc)) is None


def test_what_another_person_wants_is_left_alone(loc: Location) -> None:
    data = wanted(loc).encode(loc)
    git(loc.repo.place, "config", "user.name", "Kim")
    again = Location.find(loc.repo.place)
    assert wanted(again).decode(again, data) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"[1]", b"null"])
def test_anything_else_is_left_alone(loc: Location, data: bytes) -> None:
    assert wanted(loc).decode(loc, data) is None


@pytest.mark.parametrize("row", [None, [], [{}, "m", []], [{"items": 1}, "m", []]])
def test_what_is_no_plan_is_left_alone(loc: Location, row: object) -> None:
    whole = json.loads(wanted(loc).encode(loc))
    whole[-2] = [row]
    assert wanted(loc).decode(loc, json.dumps(whole).encode()) is None


def test_what_a_guard_refuses_is_left_alone(loc: Location) -> None:
    text = wanted(loc).encode(loc).decode()
    assert wanted(loc).decode(loc, text.replace("Look before you leap.", "A\\u202eB").encode()) is None
