from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, upsert
from xpstore import evidence
from xpstore.cli.main import run
from xpstore.commit import commit
from xpstore.hashing import content_id
from xpstore.uses import used_file

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    monkeypatch.chdir(tmp_path)
    loc = make_store(tmp_path / "s")
    draft = page("idea").replace("---\n\n", "status: draft\n---\n\n", 1)
    commit(loc, [make_plan(loc, upsert("refund", page("refund")), upsert("idea", draft))], "main")
    return loc


def read(loc: Location, *rollouts: tuple[str, bool | None]) -> str:
    """Put rollouts of one case on record that read these pages; return the commit they were read at."""
    snapshot = loc.resolve(loc.main_ref)
    files = []
    for number, (names, passed) in enumerate(rollouts):
        rollout = content_id(f"rollout {number}")
        files += [
            evidence.ledger_file(rollout, {"event": "received", "case": "c"}),
            used_file(rollout, names.split(), snapshot, passed=passed),
        ]
    evidence.write(loc, files, "Receive")
    return snapshot


def test_a_table_of_what_was_read(loc: Location, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = read(loc, ("refund", True), ("refund old", True), ("old", None), ("", False), ("", True))
    assert run(["-C", "s", "stats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = ("read", "passed", "failed", "lift", "95 % interval", "cases", "last read at", "experience")
    assert " ".join(lines[0].split()) == " ".join(heads)
    assert lines[1].split()[:6] == ["2", "1", "0", "+33.3", "-51", "to"]
    assert lines[1].endswith("  old (gone)")
    assert lines[2].split()[:4] == ["2", "2", "0", "+50.0"]
    assert f"{snapshot[:9]} " in lines[2]
    assert lines[2].endswith("  refund")
    assert lines[3].split() == ["0", "0", "0", "idea", "(draft)"]
    names = ("experience", "old", "refund", "idea")
    assert len({line.index(name) for line, name in zip(lines, names, strict=True)}) == 1


def test_one_page_as_json(loc: Location, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = read(loc, ("refund", True), ("", False))
    assert run(["-C", "s", "stats", "refund", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (row,) = answer["experiences"]
    assert (answer["ref"], answer["commit"]) == ("main", snapshot)
    assert (row["name"], row["status"], row["read"], row["passed"]) == ("refund", "production", 1, 1)
    assert row["lift"].items() >= {"difference": 1.0, "cases": 1, "read": 1, "other": 1}.items()
    assert row["last"]["commit"] == snapshot


@pytest.mark.usefixtures("loc")
def test_no_such_page_and_no_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", "s", "stats", "--", "--output=x"]) == 1
    assert "there is no experience '--output=x'" in capsys.readouterr().err
    assert run(["-C", "s", "stats", "--ref", "nowhere"]) == 1
    assert "nowhere" in capsys.readouterr().err
    make_store(tmp_path / "empty")
    assert run(["-C", "empty", "stats"]) == 0
    assert capsys.readouterr().out == "There are no experiences.\n"
