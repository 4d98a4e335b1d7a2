from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.builders import identify
from tests.e2e.bad import rollouts as telling
from tests.trainer.case_store import write_suites
from trainer.cli.train import describe
from trainer.domain import RolloutFailure
from trainer.train_report import PlanSummary, TrainReport
from xpstore import evidence, gate_record
from xpstore.cli.app import App
from xpstore.cli.main import run
from xpstore.location import Location

ID = "0123456789abcdef0123"
HERE = App(cwd=Path.cwd())


def report(**fields) -> TrainReport:
    return TrainReport(
        **{"run_id": "r1", "branch": "train/r1", "dry_run": False, "rollouts": 4, "passed": 1, **fields}
    )


def failure(rollout: str, stage: str) -> RolloutFailure:
    return RolloutFailure(rollout=rollout, case="", stage=stage, error="odd")


def plan(commit: str = "c" * 40) -> PlanSummary:
    return PlanSummary(plan_id=ID, commit=commit, subject="Ask before refunds", items=("refund",), lessons=2)


def test_a_report_has_counts_commits_reasons_and_the_next_commands():
    lines = list(
        describe(
            report(
                plans=(plan(),),
                already=("a",),
                nothing={"b": "chance does as well (5); one trial only", "c": "chance does as well (7)"},
                refused={"refund": "opposite advice"},
                problems=({"file": "x.json", "line": 3, "error": "no messages"},),
                failures=tuple(map(failure, "defg", ("receive", "receive", "analyze", "recall"))),
                report={
                    "candidates": 21,
                    "dropped": {
                        "decision": {"too little support": 3, "does not hold": 9},
                        "once": {"too little support": 4},
                    },
                },
            ),
            "main",
            HERE,
        )
    )
    assert lines == [
        "4 rollouts, 1 passed, 1 already learned, 2 forgotten here, 1 failed to be read by the learner",
        "2 lessons, 1 commit on train/r1",
        "  ccccccccc Ask before refunds",
        "2 rollouts taught nothing (a rollout can have several reasons):",
        "     2  chance does as well",
        "     1  one trial only",
        "Not merged:",
        "     1  refund: opposite advice",
        "Failed:",
        "     1  analyze: odd",
        "     1  recall: odd",
        "Left out of 21 candidates:",
        "     9  does not hold",
        "     7  too little support",
        "Skipped 1 broken record:",
        "  x.json:3: no messages",
        "",
        "Next:",
        "  xp log train/r1",
        "  git diff main...train/r1",
        "  xp land train/r1",
    ]


def test_what_is_on_main_need_not_land():
    lines = list(describe(report(plans=(plan(),), branch="main"), "main", HERE))
    assert lines[-2:] == ["Next:", "  xp log main"]


def test_a_dry_run_promises_no_commits():
    lines = list(describe(report(plans=(plan(commit=""),), dry_run=True), "main", HERE))
    assert lines[1:] == ["2 lessons; would be 1 commit on train/r1", "  012345678 Ask before refunds"]


@pytest.mark.parametrize(
    ("already", "words"),
    [(("a", "b", "c", "d"), "Everything here is already learned."), (("a",), "Nothing was learned.")],
)
def test_without_plans_the_report_says_why(already, words):
    assert list(describe(report(already=already), "main", HERE))[1] == words


def test_one_reason_each_needs_no_remark():
    lines = list(describe(report(nothing={"a": "one trial only", "b": "one trial only"}), "main", HERE))
    assert "2 rollouts taught nothing:" in lines


def test_pages_that_no_agent_reads_are_told():
    unserved = plan().model_copy(update={"unserved": {"refund": "archived"}})
    lines = list(describe(report(plans=(unserved,)), "main", HERE))
    assert lines[2:4] == ["  ccccccccc Ask before refunds", "    refund is archived: no agent reads it"]


def test_the_next_commands_can_be_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = App(cwd=tmp_path / "my desk", store="second")
    assert list(describe(report(branch="train/a&b", plans=(plan(),)), "main", app))[-3:] == [
        "  xp -C 'my desk' --store second log 'train/a&b'",
        "  git -C 'my desk' diff 'main...train/a&b'",
        "  xp -C 'my desk' --store second land 'train/a&b'",
    ]


def test_long_lists_are_cut():
    failures = tuple(
        RolloutFailure(rollout=str(i), case="", stage="analyze", error=f"odd {i:02}") for i in range(12)
    )
    problems = tuple({"file": "f", "line": i, "error": "bad"} for i in range(7))
    lines = list(describe(report(failures=failures, problems=problems), "main", HERE))
    assert "     2  for other reasons" in lines
    assert lines[-1] == "  and 2 more (--json lists all)"


def rollout(score: float, order: str) -> str:
    messages = [
        {"role": "user", "content": f"Refund order {order}."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "1", "function": {"name": "refund", "arguments": json.dumps({"order": order})}}
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ]
    return json.dumps({"messages": messages, "score": score})


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["init", "s"]) == 0
    lines = [rollout(i % 2, f"#W{i}") for i in range(4)]
    (tmp_path / "rollouts.jsonl").write_text("\n".join([*lines, "{broken"]), encoding="utf-8")
    return tmp_path / "s"


@pytest.mark.usefixtures("store")
def test_train_reads_files_beside_the_caller_and_answers_in_json(capsys):
    capsys.readouterr()
    assert run(["-C", "s", "train", "rollouts.jsonl", "--json", "--branch", "train/mine"]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert captured.err == ""
    assert (answer["rollouts"], answer["passed"], answer["branch"]) == (4, 2, "train/mine")
    assert [problem["line"] for problem in answer["problems"]] == [5]
    assert answer["exit_code"] == 0
    assert run(["-C", "s", "train", "rollouts.jsonl"]) == 0
    assert "already learned" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(store, capsys):
    before = Location.find(store).repo.refs()
    assert run(["-C", "s", "train", "-n", "rollouts.jsonl"]) == 0
    assert Location.find(store).repo.refs() == before
    assert "4 rollouts, 2 passed" in capsys.readouterr().out


def with_environment(store: Path, *cases: str) -> Location:
    identify(store)
    config = store / "xp.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text + '\n[environment]\nname = "scripted"\n', encoding="utf-8")
    write_suites(store, **({"gate": [*cases]} if cases else {"test": ["one"]}))
    return Location.find(store)


@pytest.mark.parametrize("main", ["main", "refs/heads/main"])
def test_main_is_not_trained_on_past_its_gate(store, capsys, main):
    loc = with_environment(store, "one")
    before = loc.repo.refs()
    assert run(["-C", "s", "train", "rollouts.jsonl", "--branch", main]) == 2
    assert "error: main has a gate" in capsys.readouterr().err
    assert run(["-C", "s", "train", "rollouts.jsonl", "--branch", main, "--land"]) == 2
    assert loc.repo.refs() == before
    assert run(["-C", "s", "train", "rollouts.jsonl", "--branch", main, "--dry-run"]) == 0


@pytest.mark.parametrize(
    ("cases", "options", "why"),
    [
        (["one"], ["--no-gate"], "--no-gate was given"),
        ([], [], "the store has no cases in cases/gate.jsonl"),
    ],
)
def test_what_goes_to_main_without_a_measurement_is_on_record(store, capsys, cases, options, why):
    loc = with_environment(store, *cases)
    old = loc.repo.ref("refs/heads/main")
    file = str(telling(store.parent / "telling.jsonl"))
    capsys.readouterr()
    assert run(["-C", "s", "train", file, "--branch", "main", *options, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ungated"], bool(answer["plans"])) == (why, True)
    (path,) = evidence.listing(loc, "gates")
    record = gate_record.read(loc, path)
    assert record is not None
    assert (record.against, record.candidate) == (old, answer["plans"][-1]["commit"])
    assert (record.decided_by, record.reason) == ("none", why)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "args", [["-C", "s", "train", "gone.json"], ["train", "rollouts.jsonl"], ["-C", "s", "train"]]
)
def test_wrong_use_is_exit_2(args):
    assert run(args) == 2


@pytest.mark.usefixtures("store")
def test_ctrl_c_is_130(monkeypatch, capsys):
    async def interrupted(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    monkeypatch.setattr("trainer.train.train_files", interrupted)
    assert run(["-C", "s", "train", "rollouts.jsonl"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
