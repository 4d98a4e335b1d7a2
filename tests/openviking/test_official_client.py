"""OpenViking's own client and trainer, unchanged, at our service: sessions become commits."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from tests.openviking_world import ROOT, xp_serve
from trainer.components.session_commit import session_messages
from trainer.importers import read_rollouts

if TYPE_CHECKING:
    from trainer.domain import Rollout

COUNT = 40
AGENT = Path(__file__).parent / "agent.py"


def rollouts() -> list[Rollout]:
    return list(read_rollouts([ROOT / "sample_repo" / "rollouts" / "returns.jsonl"]).rollouts[:COUNT])


def run_agent(python: str, how: str, url: str, sessions: list[dict[str, object]], folder: Path) -> dict:
    file = folder / f"{how}.json"
    file.write_text(json.dumps(sessions), "utf-8")
    # an empty home: no configuration of somebody's own
    environment = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(ROOT) if how == "upload" else ""}
    done = subprocess.run(
        [python, str(AGENT), how, url, str(file)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_client_commits_sessions_and_lessons_land_as_commits(python: str, tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    sessions = [
        {"id": f"work-{number}", "messages": session_messages(r, r.evaluation)}
        for number, r in enumerate(rollouts())
    ]
    with xp_serve(tmp_path / "s", "--branch", "main") as url:
        told = run_agent(python, "client", url, sessions, tmp_path)
    assert told["health"] is True
    assert [task["status"] for task in told["tasks"]] == ["completed"] * COUNT
    commits = {commit for task in told["tasks"] for commit in task["result"]["commits"]}
    assert commits
    log = git(tmp_path / "s", "log", "--format=%H", "main").split()
    assert commits <= set(log)
    for task in told["tasks"]:  # learned, or told why not
        assert task["result"]["commits"] or task["result"]["agent_memory_skip_reason"]
    names = git(tmp_path / "s", "ls-tree", "--name-only", "main", "experiences/").split()
    assert [uri.rpartition("/")[2] for uri in told["pages"]] == [n.rpartition("/")[2] for n in names]
    assert told["simple"] == list(told["pages"])
    assert [page["uri"] for page in told["stat"]] == list(told["pages"])
    for name, uri in zip(names, told["pages"], strict=True):
        assert told["raw"][uri].strip() == git(tmp_path / "s", "show", f"main:{name}")
        assert "## Approach" in told["pages"][uri]
    diff = json.loads(told["diff"])
    assert diff["summary"]["total_adds"] + diff["summary"]["total_updates"] >= 1
    assert told["found"][0]["memories"]


def test_what_else_the_client_asks_for_is_answered_as_it_expects(python: str, tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    first = rollouts()[0]
    sessions = [{"id": "one", "messages": session_messages(first, first.evaluation)}]
    with xp_serve(tmp_path / "s") as url:
        told = run_agent(python, "client", url, sessions, tmp_path)
    assert set(told["listed"]) == {"one", "alone"}
    assert [t["task_id"] for t in told["of_first"]] == [told["tasks"][0]["task_id"]]
    assert (told["session"]["message_count"], told["session"]["commit_count"]) == (0, 1)
    assert told["session"]["total_message_count"] == len(sessions[0]["messages"])  # type: ignore[arg-type]
    assert told["alone"] == 1
    assert told["exists"] is True
    assert told["unknown_task"] is None
    assert (told["empty"]["status"], told["empty"]["reason"]) == ("skipped", "no_messages")
    assert told["errors"] == {
        "twice": "AlreadyExistsError",
        "session": "NotFoundError",
        "page": "NotFoundError",
        "many": "InvalidArgumentError",
        "kind": "InvalidArgumentError",
        "write": "PermissionDeniedError",
    }


def test_the_trainer_of_openviking_trains_our_store(python: str, tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    sessions = [
        {
            "case": {**r.case.model_dump(mode="json"), "input": {"user_query": r.messages[0].text}},
            "messages": [m.model_dump(mode="json") for m in r.messages if m.parts],
            "evaluation": r.evaluation.model_dump(mode="json") if r.evaluation else None,
        }
        for r in rollouts()
    ]
    with xp_serve(tmp_path / "s", "--branch", "main") as url:
        told = run_agent(python, "trainer", url, sessions, tmp_path)
    assert told["errors"] == []
    assert [c["task_status"] for c in told["commits"]] == ["completed"] * COUNT
    assert int(git(tmp_path / "s", "rev-list", "--count", "main")) > 1


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_our_trainer_takes_the_client_of_openviking(
    whose: str, python: str, openviking: str, tmp_path: Path
) -> None:
    make_store(tmp_path / "s")
    sessions = [
        {"id": f"taken-{r.id}", "messages": session_messages(r, r.evaluation)} for r in rollouts()[:4]
    ]
    with xp_serve(tmp_path / "s") as url:
        told = run_agent(python, "upload", url if whose == "ours" else openviking, sessions, tmp_path)
    assert [way["status"] for way in told["first"]] == ["completed"] * 4
    assert [way["is_earlier"] for way in told["first"]] == [False] * 4
    assert [way["is_earlier"] for way in told["second"]] == [True] * 4
    assert [way["task_id"] for way in told["second"]] == [way["task_id"] for way in told["first"]]
