from __future__ import annotations

import json
import sys

import pytest

from tests.builders import git
from tests.trainer.case_store import write_suites
from xpstore.cli.main import run

pytestmark = pytest.mark.usefixtures("case_store")
LOOP = ["-C", "s", "train", "--trials", "2", "--time-limit", "10"]


def test_the_lines_the_difference_and_what_to_type_next(case_store, capsys):
    write_suites(case_store, train=["a", "b"], test=["d", "crash"])
    assert run([*LOOP, "--epochs", "3"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (branch,) = git(case_store, "for-each-ref", "--format=%(refname:short)", "refs/heads/train").split()
    starts = [line.partition(" accuracy")[0] for line in lines if line.startswith("[")]
    assert starts == [
        "[baseline_eval] epoch=-1 cases=2",
        "[train_epoch] epoch=0 cases=2",
        "[train_epoch] epoch=1 cases=2",
        "[final_eval] epoch=2 cases=2",
    ]
    assert "accuracy=100.00% passed=4/4 avg_reward=1.000000 commits=0 errors=0" in "\n".join(lines)
    assert f"2 lessons, 2 commits on {branch}" in lines
    assert "     2  crash: RuntimeError: the desk burnt down" in lines
    assert "Stopped: epoch 1 changed nothing, so the next one would meet the same policy." in lines
    assert (
        lines[-8:]
        == [
            "",
            "baseline accuracy: 0.00% (0/2)",
            "final accuracy: 0.00% (0/2)",
            "accuracy delta: +0.00pp",
            "",
            "Next:",
            f"  xp -C s log {branch}",
            f"  git -C s diff main...{branch}",
            f"  xp -C s land {branch}",
        ][-8:]
    )


def test_json_and_the_report_file_are_the_same_object(case_store, capsys):
    assert run([*LOOP, "--json", "--report", "r.json", "--eval-trials", "1", "--eval-limit", "1"]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert captured.err == ""
    assert answer == json.loads((case_store / "r.json").read_text(encoding="utf-8"))
    assert answer["exit_code"] == 0
    assert (answer["baseline"]["n"], answer["delta"]) == (1, 0.0)
    (epoch,) = answer["epochs"]
    assert (epoch["n"], epoch["passed"], len(epoch["commits"]), epoch["changed"]) == (4, 0, 2, True)
    assert [plan["items"] for plan in epoch["learned"]["plans"]] == [["a"], ["b"]]
    assert epoch["by_case"][0] == {
        "name": "a",
        "passed": 0,
        "n": 2,
        "failures": 0,
        "average_reward": 0.0,
    }


def test_a_dry_run_says_what_would_run_and_runs_nothing(case_store, capsys):
    before = git(case_store, "for-each-ref")
    assert run([*LOOP, "-n", "--epochs", "2"]) == 0
    out = capsys.readouterr().out
    assert "would train on scripted and put commits on train/" in out
    assert "at most 8 rollouts of 2 training cases" in out
    assert "at most 8 rollouts of 2 test cases" in out
    assert run([*LOOP, "-n", "--json", "--no-eval"]) == 0
    assert json.loads(capsys.readouterr().out)["test_rollouts"] == 0
    assert git(case_store, "for-each-ref") == before


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--branch", "x"], "--branch works with FILE only"),
        (["--again"], "--again works with FILE only"),
        (["--epochs", "2", "some.jsonl"], "--epochs works without FILE only"),
        (["--seed", "2", "some.jsonl"], "--seed works without FILE only"),
        (["--report", "nowhere/r.json"], "cannot write a report"),
        (["--trials", "0"], "--trials"),
        (["--trials", "10001"], "--trials"),
        (["--eval-trials", "10001"], "--eval-trials"),
    ],
)
def test_wrong_use_is_exit_2(args, why, capsys):
    assert run(["-C", "s", "train", *args]) == 2
    assert why in capsys.readouterr().err


def test_a_store_without_environment_is_one_clear_error(capsys):
    assert run(["init", "plain"]) == 0
    capsys.readouterr()
    assert run(["-C", "plain", "train"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "error: this store names no environment, so there is nothing to run its cases in"
    assert err[1].startswith("hint: write `[environment]`")


@pytest.mark.parametrize("option", ["--trials", "--eval-trials"])
def test_more_rollouts_than_can_be_kept_are_refused_before_anything_runs(option, capsys, monkeypatch):
    monkeypatch.setattr("trainer.trials.MOST_ROLLOUTS", 100)
    for more in ([], ["--dry-run"]):
        assert run(["-C", "s", "train", "--trials", "2", option, "101", *more]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "101 trials of each of" in err
        assert "at most 100" in err


def test_what_was_learned_lands_at_once_if_the_gate_accepts_it(case_store, capsys):
    write_suites(case_store, train=[f"t{n}" for n in range(6)], gate=[f"g{n}" for n in range(24)], test=["d"])
    assert run([*LOOP, "--no-eval", "--land"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("ACCEPT: no harm, and no proof of progress") for line in lines)
    assert "6 commits landed on main" in lines
    assert git(case_store, "ls-files", "experiences").count("\n") == 5


def test_what_the_gate_leaves_open_stays_on_its_branch(case_store, capsys):
    old = git(case_store, "rev-parse", "main")
    assert run([*LOOP, "--no-eval", "--land", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["exit_code"], answer["landing"]["state"]) == (2, "inconclusive")
    assert git(case_store, "rev-parse", "main") == old
    assert run([*LOOP, "--no-eval", "--land", "--accept-inconclusive", "--json"]) == 0
    landed = json.loads(capsys.readouterr().out)["landing"]
    assert (landed["state"], landed["gate"]["record"]["decided_by"]) == ("landed", "person: Pat")
    assert git(case_store, "rev-parse", "main") == landed["new"] != old


def test_how_to_land_is_for_landing_only(capsys):
    for words in (["--no-gate"], ["--accept-inconclusive"], ["--land", "--dry-run"]):
        assert run([*LOOP, *words]) == 2
        assert words[0] in capsys.readouterr().err


def test_a_cluster_that_is_not_to_be_had_is_told(capsys, monkeypatch):
    assert run([*LOOP, "--cluster-remote", "origin"]) == 2
    assert "--cluster-remote is for --executor ray" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in ("trainer.cluster.opening", "trainer.cluster.door"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert run([*LOOP, "--executor", "ray"]) == 2
    assert "pip install 'xpstore[ray]'" in capsys.readouterr().err
