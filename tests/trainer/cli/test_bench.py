from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.env_world import Words, serving
from trainer.cli.bench import _service_command
from trainer.env_kit.service import make_service
from xpstore.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FEW = ("--trials", "1", "--train-limit", "2", "--eval-limit", "2", "--seed", "1")


@pytest.fixture
def words() -> Words:
    runtime = Words()
    runtime.name = "tau2"
    return runtime


@pytest.fixture
def url(words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    with serving(make_service(words)) as address:
        yield address


def test_it_writes_the_lines_and_the_report(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["bench", "tau2", "b", "--url", url, *FEW]) == 0
    said = capsys.readouterr().out
    for line in (
        "[floor_eval] epoch=-1 cases=2 accuracy=100.00% passed=2/2 avg_reward=1.000000",
        "[baseline_eval] epoch=-1 cases=2 accuracy=100.00% passed=2/2 avg_reward=1.000000",
        "[train_epoch] epoch=0 cases=2 accuracy=100.00% passed=2/2 avg_reward=1.000000 commits=0 errors=0",
        "accuracy delta: +0.00pp",
        "do-nothing floor: 100.00% (2/2)",
        "baseline_eval pass^1=100.00%",
        "cases better: 0, worse: 0, the same: 2",
    ):
        assert f"{line}\n" in said
    report = json.loads((tmp_path / "b" / "report.json").read_text("utf-8"))
    assert run(["bench", "tau2", "b", "--url", url, *FEW, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["loop"]["run_id"] == report["loop"]["run_id"]
    assert again["pass_hat"] == report["pass_hat"] == {"baseline_eval": {"1": 1.0}, "final_eval": {"1": 1.0}}
    assert again["exit_code"] == 0


@pytest.mark.parametrize("blocked", ["b", "b/rollouts", "b/rollouts/eval", "b/report.json", "b/service.log"])
def test_what_could_not_be_kept_is_not_run(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: Words, blocked: str
):
    (tmp_path / blocked).parent.mkdir(parents=True, exist_ok=True)
    if blocked.endswith(("json", "log")):
        (tmp_path / blocked).mkdir()
    else:
        (tmp_path / blocked).touch()
    assert run(["bench", "tau2", "b", "--url", url, *FEW]) == 2
    assert "error: cannot write" in capsys.readouterr().err
    assert not words.requests


def test_a_dry_run_counts_and_leaves_nothing(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["bench", "tau2", "b", "--url", url, *FEW, "--epochs", "3", "--dry-run"]) == 0
    assert "  at most 6 rollouts in train_epochs\n" in capsys.readouterr().out
    assert run(["bench", "tau2", "b", "--url", url, *FEW, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["train_cases"], plan["test_cases"]) == (2, 2)
    assert plan["rollouts"] == {"floor_eval": 2, "baseline_eval": 2, "train_epochs": 2, "final_eval": 2}
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "no model is named"),
        (("--url", "http://127.0.0.1:9", "--agent-model", "m"), "--agent-model is for a service to start"),
        (("--url", "http://127.0.0.1:9", "--option", "a=b"), "--option is for a service to start"),
        (("--agent-model", "m", "--trainer", "session-commit"), "belong together"),
        (("--agent-model", "m", "--session-url", "http://127.0.0.1:9"), "belong together"),
        (("--url", "ftp://x"), "address"),
        (("--url", "http://127.0.0.1:9", "--key-variable", "XP_NO_SUCH_KEY"), "XP_NO_SUCH_KEY is not set"),
    ],
)
def test_options_that_do_not_go_together(
    options: tuple[str, ...],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert run(["bench", "tau2", "b", *options]) == 2
    assert why in capsys.readouterr().err


def test_no_key_is_in_the_command_of_a_service(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody-may-see")
    given = {
        "agent_model": "m",
        "user_model": "",
        "judge_model": "j",
        "data": "/d",
        "train_labels": True,
        "parallel": 3,
        "time_limit": 60.0,
        "options": ("max_steps=9",),
    }
    command = list(_service_command(given))
    assert "sk-nobody-may-see" not in " ".join(command)
    options = [value for flag, value in pairwise(command) if flag == "--option"]
    assert options == [
        "agent_model=m",
        "judge_model=j",
        "data=/d",
        "train_labels=yes",
        "parallel=3",
        "time_limit=60.0",
        "max_steps=9",
    ]
    assert "--labels" in command
