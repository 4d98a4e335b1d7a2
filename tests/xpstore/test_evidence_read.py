from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_store
from xpstore import evidence, evidence_read
from xpstore.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

ID = "ab" + "0" * 18


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path)


def received(run: str) -> evidence.EvidenceFile:
    return evidence.ledger_file(ID, {"event": "received", "run": run})


def test_nothing_on_record_yet(loc: Location) -> None:
    assert evidence_read.tip(loc) is None
    assert evidence_read.read(loc, "rollouts/ab/x.json") is None
    assert evidence_read.listing(loc, "") == []
    assert evidence_read.ledger(loc, ID) == []
    assert evidence_read.find_ids(loc, "rollouts", "") == []
    assert evidence.write(loc, [], "nothing") is None


def test_abbreviations(loc: Location) -> None:
    ids = ["ab1", "ab2", "ac1"]
    evidence.write(loc, [evidence.trajectory_file(i, "t") for i in ids] + [received("1")], "m")
    assert evidence_read.find_ids(loc, "trajectories", "") == ids
    assert evidence_read.find_ids(loc, "trajectories", "a") == ids
    assert evidence_read.find_ids(loc, "trajectories", "ab") == ["ab1", "ab2"]
    assert evidence_read.find_ids(loc, "trajectories", "ab2") == ["ab2"]
    assert evidence_read.find_ids(loc, "ledger", ID[:4]) == [ID]


def test_sizes_are_told_without_reading(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    assert evidence_read.size(loc, "evaluations/aa/x.json") is None
    evidence.write(loc, [evidence.json_file("evaluations/aa/x.json", {"a": 1})], "x")
    assert evidence_read.size(loc, "evaluations/aa/x.json") == len(b'{"a":1}\n')
    assert evidence_read.size(loc, "evaluations/aa") is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_json_that_is_none(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"x\.json"):
        evidence_read.parse_json(data, "x.json")
