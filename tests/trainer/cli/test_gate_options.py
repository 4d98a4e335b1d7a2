from __future__ import annotations

from tests.builders import git
from tests.trainer.gate_store import answer, settle, xp
from xpstore import evidence, gate_record
from xpstore.location import Location


def test_what_lands_is_gated_and_what_does_not_stays_on_its_branch(gate_store, capsys):
    old = git(gate_store, "rev-parse", "main")
    assert xp("land", "train/worse") == 1
    out = capsys.readouterr().out
    assert out.startswith("REJECT: it is worse")
    assert out.endswith(f"Nothing landed; main stays at {old[:9]}\n")
    assert git(gate_store, "rev-parse", "main") == old
    assert xp("land", "train/better", "--json") == 0
    landed = answer(capsys)
    assert landed["state"] == "landed"
    assert landed["verdict"] == {"decision": "accept", "reason": landed["gate"]["record"]["reason"]}
    assert landed["ungated"] == ""
    assert git(gate_store, "rev-parse", "main") != old


def test_landing_without_a_gate_is_on_record(gate_store, capsys):
    assert xp("land", "train/worse", "--no-gate") == 0
    assert "  no gate: --no-gate was given" in capsys.readouterr().out.splitlines()
    loc = Location.find(gate_store)
    (path,) = evidence.listing(loc, "gates")
    record = gate_record.read(loc, path)
    assert record is not None
    assert (record.decided_by, record.reason) == ("none", "--no-gate was given")


def test_what_is_left_open_needs_a_person_who_is_named(gate_store, capsys):
    settle(gate_store, margin=0.001)
    assert xp("land", "train/neither") == 2
    assert "trials of each case would decide" in capsys.readouterr().out
    assert xp("land", "train/neither", "--accept-inconclusive", "--json") == 0
    record = answer(capsys)["gate"]["record"]
    assert (record["decision"], record["decided_by"]) == ("accept", "person: Pat")


def test_a_merge_that_a_person_decides_is_gated_too(gate_store, capsys):
    main = git(gate_store, "rev-parse", "main")
    assert xp("resolve", "train/worse", "--take", "theirs") == 1
    assert capsys.readouterr().out.startswith("REJECT: ")
    assert git(gate_store, "rev-parse", "main") == main


def test_an_undo_on_main_is_gated_as_any_other_change(gate_store, capsys):
    main, taught = git(gate_store, "log", "--format=%H", "--author=offline", "main").split()
    assert git(gate_store, "rev-parse", "main") == main
    assert xp("revert", taught) == 1
    error = capsys.readouterr().err
    assert "error: the gate says reject: it is worse: -20.8 points, 0 cases better, 5 worse" in error
    assert git(gate_store, "rev-parse", "main") == main
    assert xp("revert", taught, "--no-gate") == 0
    assert len(git(gate_store, "ls-files", "experiences").split()) == 7
    assert xp("revert", "main") == 0  # back again: progress
    assert "gate: accept: progress: +20.8 points" in capsys.readouterr().err
