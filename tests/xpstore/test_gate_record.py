from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, upsert
from xpstore import evidence, evidence_check, gate_record
from xpstore.commit import commit
from xpstore.errors import FormatError
from xpstore.evaluation import experiences_at
from xpstore.gate_record import GateRecord
from xpstore.settings import GatePolicy

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    found = make_store(tmp_path / "s")
    commit(found, [make_plan(found, upsert("a", page("a")))], "main")
    commit(found, [make_plan(found, upsert("b", page("b")))], "train/1")
    return found


def record_of(loc: Location, **fields: object) -> GateRecord:
    main, tip = loc.repo.resolve("main"), loc.repo.resolve("train/1")
    values = {
        "candidate": tip,
        "against": main,
        "experiences": experiences_at(loc, tip),
        "baseline": experiences_at(loc, main),
        "suite": "gate",
        "suite_digest": "d1",
        "trials": 4,
        "policy": GatePolicy(trials=4, margin=0.2),
        "evaluations": ("evaluations/aa/a.json", "evaluations/bb/b.json"),
        "decision": "accept",
        "reason": "no harm",
    }
    return GateRecord.model_validate({**values, **fields})


def test_a_decision_is_written_once_and_read_back_with_the_rules_that_were_used(loc: Location) -> None:
    record = record_of(loc)
    path = gate_record.write(loc, record)
    tip = evidence.tip(loc)
    assert gate_record.write(loc, record) == path == gate_record.record_path(record)
    assert evidence.tip(loc) == tip
    assert gate_record.read(loc, path) == record
    assert gate_record.read(loc, "gates/aa/none.json") is None
    assert record.policy.margin == 0.2
    assert evidence.find_ids(loc, "gates", record.id[:5]) == [record.id]


def test_decisions_are_found_by_the_two_trees_whatever_the_commits(loc: Location) -> None:
    first, second = record_of(loc, trials=8, look=2), record_of(loc, candidate="0" * 40)
    other = record_of(loc, experiences="1" * 40)
    for record in (first, second, other):
        gate_record.write(loc, record)
    assert gate_record.of_experiences(loc, first.experiences, first.baseline) == [second, first]
    assert gate_record.of_experiences(loc, first.baseline, first.experiences) == []
    assert gate_record.of_experiences(loc, other.experiences, other.baseline) == [other]


def test_a_landing_without_a_gate_says_so(loc: Location) -> None:
    tip, main = loc.repo.resolve("train/1"), loc.repo.resolve("main")
    record = gate_record.ungated(loc, tip, main, "in a hurry")
    assert (record.decided_by, record.decision, record.reason) == ("none", "accept", "in a hurry")
    assert (record.experiences, record.baseline) == (experiences_at(loc, tip), experiences_at(loc, main))
    assert record.evaluations == ("", "")
    assert record.policy == loc.config.gate


def test_an_altered_decision_is_found(loc: Location) -> None:
    record = record_of(loc, decision="reject")
    good = gate_record.as_file(record)
    forged = evidence.EvidenceFile(good.path, good.data.replace(b"reject", b"accept"))
    evidence.write(loc, [forged], "forge")
    shelf = evidence_check.Evidence.open(loc)
    assert "was altered" in shelf.problem(good.path)


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"[]", "no JSON object"), (b"{}", "no decision of a gate: candidate"), (b"{", "no JSON")],
)
def test_what_is_no_decision_is_named(data: bytes, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        gate_record.parse(data, "gates/aa/x.json")
