from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from tests.builders import fsck, git
from tests.trainer.case_store import write_suites
from tests.trainer.gate_store import answer, settle, xp
from xpstore import evidence, evidence_check
from xpstore.location import Location


@pytest.mark.parametrize(
    ("branch", "code", "first"),
    [
        ("train/better", 0, "ACCEPT: progress: +25.0 points, 6 cases better, 0 worse, p = 0.016"),
        (
            "train/neither",
            0,
            "ACCEPT: no harm, and no proof of progress: +0.0 points, 0 cases better, 0 worse",
        ),
        ("train/worse", 1, "REJECT: it is worse: -25.0 points, 0 cases better, 6 worse, p = 0.016"),
    ],
)
def test_the_answer_is_a_sentence_and_an_exit_code(gate_store, capsys, branch, code, first):
    main = git(gate_store, "rev-parse", "main")
    assert xp("gate", branch) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(first)
    assert lines[-1].startswith("  192 trials run, 0 on record; decision gates/")
    assert git(gate_store, "rev-parse", "main") == main
    assert xp("gate", branch) == code
    again = capsys.readouterr().out.splitlines()
    assert again[:-1] == lines[:-1]
    assert again[-1].startswith("  0 trials run, 192 on record; decision gates/")


def test_reports_are_written_for_sites_and_programs(gate_store, capsys):
    assert (
        xp(
            "gate",
            "train/worse",
            "--json",
            "--markdown",
            "r.md",
            "--junit",
            "r.xml",
            "--url",
            "https://x.example",
        )
        == 1
    )
    found = answer(capsys)
    assert (found["exit_code"], found["branch"], found["url"]) == (1, "train/worse", "https://x.example")
    assert found["again"] == "xp -C s gate train/worse"
    text = (gate_store / "r.md").read_text(encoding="utf-8")
    assert text.startswith("<!-- xp-gate ")
    assert "## Gate: REJECT" in text
    assert "| `g0` | `++++` | `----` | -100 |" in text
    suite = ET.parse(gate_store / "r.xml").getroot()[0]  # noqa: S314  # our own
    assert (suite.get("tests"), suite.get("failures")) == ("25", "7")


def test_a_server_keeps_the_decision_where_no_push_can_write(gate_store, capsys):
    assert xp("gate", "train/better", "--hold", "--json") == 0
    found = answer(capsys)
    loc = Location.find(gate_store)
    held = {path.name: path.read_bytes() for path in (loc.repo.common_dir / "xpstore.gates").iterdir()}
    paths = [found["path"], *found["record"]["evaluations"]]
    assert held == {path.rpartition("/")[2]: evidence.read(loc, path) for path in paths}


def test_a_decision_that_cannot_be_held_is_no_defect(gate_store, capsys):
    (Location.find(gate_store).repo.common_dir / "xpstore.gates").write_text("in the way")
    assert xp("gate", "train/better", "--hold") == 1
    assert "error: cannot hold the decision in " in capsys.readouterr().err


def test_what_main_has_already_needs_no_gate(gate_store, capsys):
    git(gate_store, "branch", "old", "main")
    assert xp("gate", "old") == 0
    assert capsys.readouterr().out == "Everything up-to-date\n"
    assert xp("gate", "old", "--json") == 0
    assert answer(capsys) == {"branch": "old", "main": "main", "record": None, "exit_code": 0}
    assert xp("gate", "old", "--markdown", "r.md", "--junit", "r.xml") == 0
    assert "## Gate: nothing to land\n\n`main` has all of `old`." in (gate_store / "r.md").read_text()
    suite = ET.parse(gate_store / "r.xml").getroot()[0]  # noqa: S314  # our own
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")


def test_a_suite_that_can_reject_nothing_is_said_to_be_too_small_at_once(gate_store, capsys):
    write_suites(gate_store, few=["x1", "x2", "x3", "x4"])
    assert xp("gate", "train/neither", "--suite", "few") == 2
    err = capsys.readouterr().err
    assert err == "suite 'few' is too small to reject anything: 4 of at least 5 cases\n"
    settle(gate_store, suite="few")
    assert xp("land", "train/neither") == 2
    assert "too small to reject anything" in capsys.readouterr().err


def test_a_name_of_a_case_is_one_line_and_drives_no_terminal(gate_store, capsys, monkeypatch):
    path = gate_store / "cases/gate.jsonl"
    path.write_text(path.read_text().replace('"name":"g0"', '"name":"g0\\nREJECT\\r\u202e"'))
    git(gate_store, "commit", "-q", "-am", "Name it")
    monkeypatch.setattr("xpstore.cli.output.to_terminal", lambda: True)
    assert xp("gate", "train/worse") == 1
    lines = capsys.readouterr().out.splitlines()
    assert not [line for line in lines[1:] if line.startswith("REJECT")]
    assert xp("eval", "-v", "--suite", "gate") == 0
    out = capsys.readouterr().out
    assert "g0 REJECT <U+202E>" in out
    assert "\u202e" not in out


def test_the_command_that_repeats_it_is_for_a_shell(gate_store, capsys):
    git(gate_store, "branch", "a;b", "train/neither")
    git(gate_store, "branch", "next", "main")
    assert xp("land", "a;b", "--onto", "next", "--trials", "3", "--json") == 0
    assert answer(capsys)["gate"]["again"] == "xp -C s gate --against next --trials=3 'a;b'"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["gate"], "name one BRANCH, or --self-test"),
        (["gate", "train/better", "--self-test"], "name one BRANCH, or --self-test"),
        (["gate", "train/none"], "there is no branch 'train/none'"),
        (["gate", "train/better", "--suite", "other"], "there are no cases in cases/other.jsonl"),
        (["gate", "train/better", "--suite", "train"], "the gate cannot decide on suite 'train'"),
        (["gate", "train/better", "--markdown", "no/such/file"], "cannot write a report"),
        (["gate", "train/better", "--against", "nope"], "there is no branch nope to land on"),
        (["land", "train/better", "--onto", "nope"], "there is no branch nope to land on"),
        (["gate", "--self-test", "--junit", "r.xml"], "--self-test makes no report for --junit"),
        (["gate", "--self-test", "--hold"], "--self-test makes no report for --hold"),
    ],
)
def test_wrong_use_is_named_before_anything_runs(gate_store, capsys, words, why):
    refs = git(gate_store, "for-each-ref")
    assert xp(*words) == 2
    assert why in capsys.readouterr().err
    assert git(gate_store, "for-each-ref") == refs


def test_a_candidate_that_main_has_left_behind_is_measured_as_it_would_land_and_leaves_no_trace(
    gate_store, capsys
):
    assert xp("land", "train/neither") == 0
    tip, main = (git(gate_store, "rev-parse", ref) for ref in ("train/better", "main"))
    assert xp("gate", "train/better", "--json") == 0
    capsys.readouterr()
    assert [git(gate_store, "rev-parse", ref) for ref in ("train/better", "main")] == [tip, main]
    assert xp("land", "train/better", "--json") == 0
    landed = answer_after(capsys)
    assert (landed["how"], landed["gate"]["cost"]["ran"]) == ("re-parented", 0)
    loc = Location.find(gate_store)
    assert evidence_check.branch_problems(loc, evidence_check.Evidence.open(loc)) == []
    fsck(gate_store)


def answer_after(capsys):
    """Return the JSON of the last command, whatever stood before it."""
    out = capsys.readouterr().out
    return json.loads(out[out.index("{") :])
