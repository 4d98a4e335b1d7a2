from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.trainer.case_store import install_scripted
from tests.trainer.gate_store import make_gate_store
from trainer.gate.landing import LandingGate
from trainer.gate.report import gate_report
from xpstore.landing import land
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def loc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    return Location.find(make_gate_store(tmp_path / "s"))


def test_the_report_has_what_a_reviewer_needs(loc):
    gate = LandingGate(loc.repo.place)
    result = land(loc, "train/worse", gate=gate, dry_run=True)
    assert gate.gated is not None
    report = gate_report(
        loc, result.candidate, gate.gated, again="xp gate train/worse", url="https://x.example/"
    )
    assert (report.branch, report.main, report.how) == ("train/worse", "main", "fast-forward")
    assert [(f.name, f.baseline, f.candidate, f.difference) for f in report.flips] == [
        (f"g{n}", "++++", "----", -1.0) for n in range(6)
    ]
    assert [(p.name, p.change) for p in report.pages] == [(f"g{n}", "removed") for n in range(6)]
    assert [(x.subject, x.author, x.plan_ids) for x in report.lessons] == [("Forget", "Pat", ())]
    assert (report.cost.ran, report.cost.reused) == (192, 0)
    assert (report.agent, report.environment, report.url) == ("scripted/1", "scripted", "https://x.example")
    assert (report.evidence_branch, report.measured) == ("xp/evidence", True)
