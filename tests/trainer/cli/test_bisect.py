from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import git, make_plan, page, upsert
from tests.trainer.case_store import write_suites
from trainer.bisect import run as searching
from xpstore.cli.main import run
from xpstore.commit import commit
from xpstore.location import Location

ROOT = Path(__file__).resolve().parents[3]
BISECT = ["-C", "s", "bisect", "--good", "good"]


def asked(capsys, *args, code=0):
    capsys.readouterr()
    assert run([*BISECT, *args, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_it_tells_what_it_does_and_names_the_culprit(broken, capsys):
    plan = broken.repo.commit(broken.repo.resolve("main~3"))
    assert run(BISECT) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("8 suspects between good ")
    assert lines[0].endswith("; 4 cases of gate, 0 scores on record")
    steps = lines[1 : lines.index("")]
    assert {line.split()[0] for line in steps} == {"ends", "search", "confirm"}
    assert all(" likeliest " in line and line.endswith(" %") for line in steps)
    end = lines[lines.index("") + 1 :]
    assert end[0] == "Broken by"
    assert end[1].startswith(f"  {plan.id[:9]} Update 5 (")
    assert end[2].endswith(" (offline/1, rollouts: 1 passed=1)")
    assert end[3].startswith("  c: ")
    assert "against its parent on the same seeds: " in end[4]
    assert end[-2] == "Next:"
    assert run([*end[-1].split()[1:], "--no-gate"]) == 0  # four cases are too few for a gate
    assert 'Revert "Update 5"' in capsys.readouterr().out


def test_a_second_time_costs_nothing(broken, capsys):
    first = asked(capsys)
    again = asked(capsys)
    assert (first["state"], again["rollouts"], again["reused"]) == ("found", 0, first["rollouts"])
    assert again["culprit"] == first["culprit"]
    assert again["revert"] == f"xp -C s revert {first['culprit'][0]['plans'][0]}"
    git(broken.repo.place, "switch", "-q", "--detach", "main")
    assert asked(capsys)["revert"] == f"{again['revert']} --branch main"
    assert git(broken.repo.place, "for-each-ref", "refs/notes") == ""


def test_an_interrupt_keeps_what_was_measured(broken, capsys, monkeypatch):
    real, calls = searching.run_trials, []

    async def third_time(*args: object) -> object:
        calls.append(args)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()
        return await real(*args)

    monkeypatch.setattr(searching, "run_trials", third_time)
    assert run(BISECT) == 130
    assert "the same command goes on from there" in capsys.readouterr().err
    monkeypatch.setattr(searching, "run_trials", real)
    rest = asked(capsys)
    assert (rest["state"], rest["reused"]) == ("found", 16)
    run(["-C", str(broken.repo.place), "verify"])  # the plans of this store cite a rollout that is not there
    assert "evaluations/" not in capsys.readouterr().out


def test_its_scores_are_no_scores_of_the_suite(broken, capsys):
    asked(capsys)
    assert run(["-C", "s", "eval", "show", "main~3"]) == 0
    assert capsys.readouterr().out == "no evaluation of the experiences at main~3 is on record\n"
    assert run(["-C", "s", "eval", "show", "main~3", "--suite", "bisect:gate"]) == 0
    assert "bisect:gate on " in capsys.readouterr().out
    assert broken


def test_a_dry_run_runs_nothing(broken, capsys):
    assert run([*BISECT, "-n"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("would run a, b, c, d at ")
    seen = asked(capsys, "-n")
    assert (seen["suspects"], seen["next"]["aim"], len(seen["likeliest"])) == (8, "ends", 5)
    asked(capsys)
    assert run([*BISECT, "-n"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("nothing would be run")
    assert broken


def test_what_is_not_committed_is_said(broken, capsys):
    (broken.repo.place / "cases" / "gate.jsonl").write_text("{}\n", encoding="utf-8")
    (broken.repo.place / "experiences" / "c.md").write_text("- Do it.\n", encoding="utf-8")
    assert run([*BISECT, "-n"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "experiences/ has changes that are not committed; the last commit is the bad one",
        "cases/ has changes that are not committed; those of main are run",
    ]


def test_no_difference_is_exit_1(broken, capsys):
    assert asked(capsys, "--case", "a", "--case", "b", code=1)["state"] == "same"
    assert run([*BISECT, "--case", "a"]) == 1
    assert "do not differ measurably on 1 case of gate" in capsys.readouterr().out
    assert broken


def test_spent_rollouts_are_exit_1_and_the_likeliest_are_told(broken, capsys):
    assert run([*BISECT, "--max-rollouts", "20"]) == 1
    out = capsys.readouterr().out
    assert "Nobody is sure enough to be named (95.0 %): the rollouts are spent. The likeliest:" in out
    assert "Next:" not in out
    assert asked(capsys)["reused"] > 0
    assert broken


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (["--bad", "good"], 2, "one commit"),
        (["--good", "main", "--bad", "good"], 2, "no ancestor"),
        (["--bad", "nowhere"], 1, "nowhere"),
        (["--suite", "moon"], 2, "no cases in cases/moon.jsonl"),
        (["--case", "z"], 2, "no case 'z'"),
        (["--confidence", "1"], 2, "--confidence"),
        (["--max-rollouts", "0"], 2, "--max-rollouts"),
    ],
)
def test_wrong_use_is_one_clear_error(broken, args, code, why, capsys):
    assert run([*BISECT, *args]) == code
    err = capsys.readouterr().err
    assert why in err
    assert "hint: " in err
    assert broken


def test_a_store_without_environment_is_one_clear_error(broken, capsys):
    where = broken.repo.place
    text = (where / "xp.toml").read_text()
    (where / "xp.toml").write_text(text[: text.index("[environment]")])
    git(where, "commit", "-qam", "Forget the environment")
    assert run(BISECT) == 2
    assert "names no environment" in capsys.readouterr().err


def test_what_cannot_be_scored_is_told(broken, capsys):
    write_suites(broken.repo.place, gate=["crash", "c"])
    assert run(BISECT) == 0
    out = capsys.readouterr().out
    assert "crash could not be scored: RuntimeError: the desk burnt down" in out
    assert "Update 5" in out


def test_hostile_subjects_are_shown_and_not_obeyed(broken, capsys, monkeypatch):
    loc = Location.find(broken.repo.place)
    plan = make_plan(loc, upsert("x", page("x")), subject="Teach \x1b[2J\u202e nothing")
    commit(loc, [plan], "main")
    monkeypatch.setattr("xpstore.cli.output.to_terminal", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert run([*BISECT, "--max-rollouts", "1"]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_git_bisect_run_works_too(broken, tmp_path):
    """Real git runs the real command, which scores every commit that git checks out."""
    where = broken.repo.place
    kept = {k: v for k, v in os.environ.items() if not k.startswith("XP_")}
    env = {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{ROOT}",
    }
    git(where, "bisect", "start", "main", "main~4")
    command = ["xp", "eval", "--suite", "gate", "--case", "c", "--trials", "4", "--fail-under", "0.6"]
    done = subprocess.run(
        ["git", "bisect", "run", *command], cwd=where, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    culprit = git(where, "rev-parse", "main~3")
    assert f"{culprit} is the first bad commit" in done.stdout
    assert git(where, "rev-parse", "refs/bisect/bad") == culprit
