from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git
from tests.trainer.case_store import install_scripted
from tests.trainer.gate_store import make_gate_store
from trainer.gate.landing import LandingGate
from xpstore import evidence, gate_record
from xpstore.landing import land
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def loc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    return Location.find(make_gate_store(tmp_path / "s"))


def test_what_lands_is_what_was_measured_also_where_main_has_moved(loc):
    gate = LandingGate(loc.repo.place)
    assert land(loc, "train/neither", gate=gate).state == "landed"
    first = gate.gated
    result = land(loc, "train/better", gate=gate)
    assert (result.state, result.candidate.how) == ("landed", "re-parented")
    assert gate.gated is not None
    assert gate.gated is not first
    record = gate.gated.record
    main = loc.repo.resolve("main")
    assert (record.candidate, record.against) == (main, result.candidate.old)
    entry = loc.repo.entry(loc.repo.commit(main).tree, "experiences")
    assert entry is not None
    assert record.experiences == entry.id
    assert gate_record.of_experiences(loc, record.experiences, record.baseline) == [record]


def test_a_rejected_candidate_moves_nothing_and_the_decision_stays(loc):
    old, gate = loc.repo.resolve("main"), LandingGate(loc.repo.place)
    result = land(loc, "train/worse", gate=gate)
    assert (result.state, loc.repo.resolve("main")) == ("rejected", old)
    assert gate.gated is not None
    assert gate_record.read(loc, gate.gated.path) == gate.gated.record
    before = evidence.tip(loc)
    again = LandingGate(loc.repo.place)
    assert land(loc, "train/worse", gate=again, dry_run=True).verdict == result.verdict
    assert again.gated is not None
    assert (again.gated.ran, evidence.tip(loc)) == (0, before)


def test_a_landing_without_a_gate_says_so_in_the_evidence(loc):
    result = land(loc, "train/worse", ungated="in a hurry")
    assert result.state == "landed"
    paths = evidence.listing(loc, "gates")
    records = [gate_record.read(loc, path) for path in paths]
    assert [(r.decided_by, r.reason, r.candidate) for r in records if r] == [
        ("none", "in a hurry", loc.repo.resolve("main"))
    ]
    assert git(loc.repo.place, "status", "--short") == ""
