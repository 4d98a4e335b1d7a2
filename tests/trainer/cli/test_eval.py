from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import git
from tests.trainer.case_store import write_suites
from xpstore.cli.main import report_defect, run

pytestmark = pytest.mark.usefixtures("case_store")
EVAL = ["-C", "s", "eval"]


def evaluated(capsys, *args, code=0):
    capsys.readouterr()
    assert run([*EVAL, *args, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_score_has_its_interval_and_is_reused(case_store, capsys):
    tip = git(case_store, "rev-parse", "--short=9", "main")
    assert run(EVAL) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"test on {tip}: cases=2 accuracy=0.00% passed=0/4 avg_reward=0.000000",
        "  95% interval 0.00% to 48.99%, n=4",
    ]
    assert run([*EVAL, "main", "-v"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["  95% interval 0.00% to 48.99%, n=4; reused", "      0/2  d", "      0/2  e"]
    note = git(case_store, "notes", "--ref=xp-eval", "show", "main")
    assert json.loads(note)["passed"] == 0


def test_what_is_asked_for_decides_what_is_run(capsys):
    first = evaluated(capsys)
    assert (first["suite"], first["trials"], first["n"], first["reused"]) == ("test", 2, 4, 0)
    assert evaluated(capsys)["reused"] == 4
    assert evaluated(capsys, "--fresh")["reused"] == 0
    assert evaluated(capsys, "--seed", "9")["reused"] == 0
    assert evaluated(capsys, "--trials", "1")["n"] == 2
    assert evaluated(capsys, "--suite", "gate")["cases"] == 1
    limited = evaluated(capsys, "--eval-limit", "1")
    assert (limited["cases"], limited["environment"], limited["agent"]) == (1, "scripted", "scripted/1")


def test_what_was_learned_scores_at_its_branch(case_store, capsys):
    run(["-C", "s", "train", "--trials", "1", "--no-eval"])
    (branch,) = git(case_store, "for-each-ref", "--format=%(refname:short)", "refs/heads/train").split()
    write_suites(case_store, train=["t"], test=["a", "e"])
    assert evaluated(capsys)["accuracy"] == 0.0
    assert evaluated(capsys, branch)["accuracy"] == 0.5
    assert evaluated(capsys, branch)["reused"] == 4


def test_infrastructure_errors_are_apart_and_exit_1(case_store, capsys):
    write_suites(case_store, test=["d", "crash", "unscored"])
    answer = evaluated(capsys, code=1)
    assert (answer["n"], answer["passed"], len(answer["failures"])) == (2, 0, 4)
    assert [(c["name"], c["n"], c["failures"]) for c in answer["by_case"]] == [
        ("d", 2, 0),
        ("crash", 0, 2),
        ("unscored", 0, 2),
    ]
    assert run(EVAL) == 1
    out = capsys.readouterr().out
    assert "4 trials could not be scored; the accuracy is of the others; 2 scores reused" in out
    assert "     2  unscored: the rollout of case 'unscored' has no evaluation" in out
    write_suites(case_store, test=["crash"])
    assert run(EVAL) == 1
    assert "accuracy=n/a passed=0/0" in capsys.readouterr().out


def test_show_lists_what_is_on_record_and_runs_nothing(capsys):
    assert run([*EVAL, "show"]) == 0
    assert capsys.readouterr().out == "no evaluation of the experiences at HEAD is on record\n"
    made = evaluated(capsys)
    evaluated(capsys, "--suite", "gate")
    assert run([*EVAL, "show", "main"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[0] for line in lines if not line.startswith(" ")] == ["gate", "test"]
    assert f"  scripted/1 in scripted, 2 trials of each case, key {made['key']}" in lines
    answer = evaluated(capsys, "show", "--suite", "test")
    (record,) = answer["records"]
    assert (record["suite"], record["n"], record["fresh"]) == ("test", 4, 0)
    assert (record["commit"], record["by_case"]) == (made["commit"], made["by_case"])


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (["main", "main"], 2, "one REF too many"),
        (["nowhere"], 1, "nowhere"),
        (["--suite", "moon"], 2, "no cases in cases/moon.jsonl at main"),
        (["--trials", "0"], 2, "--trials"),
        (["--trials", "10001"], 2, "--trials"),
    ],
)
def test_what_cannot_be_evaluated_says_why(args, code, why, capsys):
    assert run([*EVAL, *args]) == code
    assert why in capsys.readouterr().err


def test_a_store_without_environment_is_one_clear_error(capsys):
    run(["init", "plain"])
    assert run(["-C", "plain", "eval"]) == 2
    assert "names no environment" in capsys.readouterr().err


def test_pages_that_no_agent_can_read_are_named(case_store, capsys):
    (case_store / "experiences").mkdir(exist_ok=True)
    (case_store / "experiences" / "broken.md").write_text("---\na: [\n---\n")
    git(case_store, "add", "experiences")
    git(case_store, "commit", "-qm", "Break a page")
    assert run(EVAL) == 0
    assert "no agent reads broken: " in capsys.readouterr().err
    assert evaluated(capsys)["unread"].keys() == {"broken"}


def test_what_is_not_committed_is_said_and_not_evaluated(case_store, capsys):
    first = evaluated(capsys)
    (case_store / "experiences").mkdir(exist_ok=True)
    (case_store / "experiences" / "d.md").write_text("- Do it.\n", encoding="utf-8")
    (case_store / "cases" / "test.jsonl").write_text("{}\n", encoding="utf-8")
    assert run([*EVAL, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["key"] == first["key"]
    assert captured.err.splitlines() == [
        "experiences/ has changes that are not committed; the last commit is evaluated",
        "cases/ has changes that are not committed; those of main are run",
    ]
    assert run([*EVAL, "main"]) == 0
    assert capsys.readouterr().err.splitlines()[0].startswith("cases/ has")
    assert run(["-C", "s", "train", "-n"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == (
        "experiences/ has changes that are not committed; what is committed on main is used"
    )


def test_an_interrupt_keeps_nothing_and_says_so(case_store, capsys, monkeypatch):
    async def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    monkeypatch.setattr("trainer.evaluate.score_trials", interrupted)
    before = git(case_store, "for-each-ref")
    assert run(EVAL) == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "An evaluation is recorded when it is whole; nothing of this one is kept.",
        "interrupted",
    ]
    assert git(case_store, "for-each-ref") == before


def test_more_rollouts_than_can_be_kept_are_refused(capsys, monkeypatch):
    monkeypatch.setattr("trainer.trials.MOST_ROLLOUTS", 100)
    assert run([*EVAL, "--trials", "101"]) == 2
    assert "101 trials of each of" in capsys.readouterr().err


def test_the_exit_codes_of_git_bisect_run(case_store):
    """0 and 1 by the accuracy, 125 for whatever keeps it from being told."""
    assert run([*EVAL, "--fail-under", "0.5"]) == 1
    assert run([*EVAL, "--fail-under", "0"]) == 0
    write_suites(case_store, test=["d", "crash"])
    assert run([*EVAL, "--fail-under", "0"]) == 125
    assert run([*EVAL, "nowhere", "--fail-under", "0"]) == 125
    assert run([*EVAL, "--suite", "moon", "--fail-under", "0"]) == 125


@pytest.mark.parametrize(
    "words",
    [
        ["--fail-under", "30"],
        ["--fail-under"],
        ["--fail-undr", "0.5"],
        ["--fail-under=0.5", "--bogus"],
        ["main", "main", "--fail-under", "0.5"],
        ["show", "--fail-under", "0.5"],
        ["--trials", "0", "--fail-under", "0.5"],
    ],
)
def test_wrong_use_is_no_verdict_on_a_commit_and_ends_the_bisection(words, capsys):
    assert run([*EVAL, *words]) == 128
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize("where", ["trainer.suite.load_suites", "trainer.cli.eval._answer"])
def test_a_defect_makes_no_commit_bad(where, capsys, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of our own")

    monkeypatch.setattr(where, broken)
    for words, code in (["--fail-under", "0.5"], "125"), ([], "70"):
        with pytest.raises(ZeroDivisionError) as defect:
            run([*EVAL, *words])
        with pytest.raises(SystemExit, match=code):
            report_defect(defect.type, defect.value, defect.tb)
        assert "this is a defect of xp: ZeroDivisionError: of our own" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(("words", "code"), [(["--fail-under", "0"], 125), ([], 1)])
def test_an_answer_that_cannot_be_written_makes_no_commit_bad(words, code):
    run(EVAL)
    command = [sys.executable, "-c", "from xpstore.cli.main import main; main()", *EVAL, *words]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=env, check=False)
    assert done.returncode == code
    assert b"error: the output cannot be written" in done.stderr


def test_single_cases(capsys):
    answer = evaluated(capsys, "--case", "e")
    assert [case["name"] for case in answer["by_case"]] == ["e"]
    assert run([*EVAL, "--case", "f"]) == 2
    assert "suite 'test' has no case 'f'" in capsys.readouterr().err
