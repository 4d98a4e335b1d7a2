from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import evidence, gate_record
from xpstore.cli import gating
from xpstore.cli.main import run
from xpstore.commit import commit
from xpstore.landing import GateVerdict
from xpstore.location import Location

ANSWERS: list[GateVerdict | str] = []


def factory(path, store, location, branch):
    """A gate that says what the test has written down; a text is the reason why there is none."""
    assert (location.config.main, branch, store) == ("main", "main", None)
    assert path.is_dir()
    answer = ANSWERS.pop()
    return answer if isinstance(answer, str) else lambda _: answer


@pytest.fixture
def loc(tmp_path, monkeypatch) -> Location:
    found = make_store(tmp_path / "s")
    config = tmp_path / "s" / "xp.toml"
    config.write_text(config.read_text() + '\n[environment]\nname = "desk"\n')
    git(tmp_path / "s", "commit", "-q", "-am", "A world")
    commit(found, [make_plan(found, upsert("a", page("a")))], "main")
    point = EntryPoint("double", f"{__name__}:factory", gating.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda _: factory)
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [point] if group == gating.GROUP else []
    )
    monkeypatch.chdir(tmp_path)
    ANSWERS.clear()
    return Location.find(tmp_path / "s")


def xp(*args: str) -> int:
    return run(["-C", "s", *args])


def test_what_the_gate_accepts_lands_and_it_says_why(loc, capsys):
    ANSWERS.append(GateVerdict("accept", "no harm"))
    assert xp("deprecate", "a", "--json") == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["branch"], answer["commit"]) == ("main", git(loc.repo.place, "rev-parse", "main"))
    assert captured.err == "gate: accept: no harm\n"
    assert git(loc.repo.place, "branch", "--list", "train/*") == ""


@pytest.mark.parametrize(("decision", "code"), [("reject", 1), ("inconclusive", 2)])
@pytest.mark.parametrize("words", [("revert", "main"), ("deprecate", "a"), ("archive", "a")])
def test_what_it_does_not_accept_waits_on_a_branch(loc, capsys, decision, code, words):
    old = git(loc.repo.place, "rev-parse", "main")
    ANSWERS.append(GateVerdict(decision, "worse"))
    assert xp(*words) == code
    captured = capsys.readouterr()
    branch = git(loc.repo.place, "branch", "--list", "train/*").strip()
    assert captured.out == ""
    assert f"error: the gate says {decision}: worse; it waits on {branch}" in captured.err
    assert f"hint: xp gate {branch} says more; xp land {branch} --no-gate lands it, on record" in captured.err
    assert git(loc.repo.place, "rev-parse", "main") == old
    ANSWERS.append(GateVerdict(decision, "worse"))
    assert xp(*words, "--json") == code
    assert json.loads(capsys.readouterr().out)["branch"] == branch


@pytest.mark.parametrize("answer", ["--no-gate was given", "the store has no cases in cases/gate.jsonl"])
def test_without_a_measurement_the_reason_is_on_record(loc, answer):
    ANSWERS.append(answer)
    assert xp("revert", "main", *(["--no-gate"] if answer == gating.NO_GATE else [])) == 0
    (path,) = evidence.listing(loc, "gates")
    record = gate_record.read(loc, path)
    assert record is not None
    assert (record.decided_by, record.reason) == ("none", answer)


def test_what_is_not_to_land_waits_on_a_branch(loc, capsys):
    assert xp("deprecate", "a", "--no-land") == 0
    branch = git(loc.repo.place, "branch", "--list", "train/*").strip()
    assert capsys.readouterr().out.startswith(f"[{branch} ")


def test_another_branch_has_no_gate(loc, capsys):
    git(loc.repo.place, "branch", "side", "main")
    assert xp("deprecate", "a", "--branch", "side") == 0
    assert xp("revert", "side", "--branch", "side", "--dry-run") == 0
    assert xp("deprecate", "a", "--dry-run") == 0
    assert xp("archive", "a", "--branch", "side", "--no-land") == 2
    assert "--no-land is for main" in capsys.readouterr().err


@pytest.mark.usefixtures("loc")
def test_a_gate_that_does_not_load_is_named(capsys, monkeypatch):
    def broken(_):
        raise ImportError("no module")

    monkeypatch.setattr(EntryPoint, "load", broken)
    assert xp("deprecate", "a") == 1
    assert "does not load: no module" in capsys.readouterr().err
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])  # noqa: ARG005
    assert xp("deprecate", "a") == 0


def test_main_says_whether_there_is_a_gate_whatever_is_checked_out(loc, capsys):
    root = Path(loc.repo.place)
    (root / "xp.toml").write_text((root / "xp.toml").read_text().partition("\n[environment]")[0])
    ANSWERS.append(GateVerdict("accept", "no harm"))
    assert xp("deprecate", "a", "--branch", "main", "--json") == 0
    assert capsys.readouterr().err == "gate: accept: no harm\n"
    git(root, "checkout", "-q", "-b", "old")
    git(root, "commit", "-q", "-am", "No world here")
    ANSWERS.append(GateVerdict("reject", "worse"))
    assert xp("archive", "a", "--branch", "main") == 1
    assert not ANSWERS
