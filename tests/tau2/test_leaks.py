"""No label of a test leaves the service: not to a model, not to the store, not to a file, not to a session.

Every test task has canaries in all of its labels; what the models see and all that a run leaves is searched.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.tau2_desk import Desk
from tests.tau2_world import World, load
from trainer.bench.artifacts import artifacts
from trainer.components.session_commit import session_messages

if TYPE_CHECKING:
    from pathlib import Path

    from tests.llm_server import LlmServer

pytestmark = pytest.mark.tau2

CANARY = "CANARY"
FEW = ("--trials", "1", "--train-limit", "5", "--eval-limit", "5", "--concurrency", "3")


def marked(task: dict[str, object], where: str) -> dict[str, object]:
    """Return the task with a canary in each of its labels; none of them changes the database."""
    word = f"{CANARY}-{where}-{task['id']}"
    copy = json.loads(json.dumps(task))
    criteria = copy["evaluation_criteria"]
    for number, action in enumerate(criteria["actions"] or []):
        action |= {"action_id": f"{word}-id-{number}", "info": f"{word}-info"}
    call = {"name": "transfer_to_human_agents", "arguments": {"summary": f"{word}-argument"}}
    criteria["actions"] = [*(criteria["actions"] or []), {"action_id": f"{word}-id", **call}]
    criteria["nl_assertions"] = [f"{word}-assertion"]
    criteria["communicate_info"] = [*(criteria["communicate_info"] or []), f"{word}-said"]
    copy["description"] = {"purpose": f"{word}-purpose", "relevant_policies": None, "notes": f"{word}-notes"}
    return copy


@pytest.fixture
def desk(models: LlmServer, tau2_python: str, tau2_data: Path, tmp_path: Path) -> Desk:
    tasks, splits = load(tau2_data / "airline")
    folder = tmp_path / "data" / "airline"
    folder.mkdir(parents=True)
    in_test = set(splits["test"])
    both = [marked(dict(task), "test" if i in in_test else "train") for i, task in tasks.items()]
    (folder / "tasks.json").write_text(json.dumps(both), "utf-8")
    (folder / "split_tasks.json").write_text(json.dumps(splits), "utf-8")
    return Desk(World(models, tasks), tau2_python, tmp_path)


def objects(store: Path) -> bytes:
    """Return the contents of every object of a repository, reachable or not."""
    command = ["git", "cat-file", "--batch", "--batch-all-objects"]
    return subprocess.run(command, cwd=store, capture_output=True, check=True).stdout


def everything(folder: Path) -> bytes:
    files = [f for f in folder.rglob("*") if f.is_file() and ".git" not in f.parts]
    return b"\n".join([*(f.read_bytes() for f in files), objects(folder / "store")])


@pytest.mark.parametrize("labels", [True, False])
def test_labels_of_a_test_are_nowhere(desk: Desk, *, labels: bool):
    options = (*FEW, "--data", str(desk.folder / "data"), *(["--train-labels"] if labels else []))
    report = desk.run("bench", *options)
    assert report["loop"]["baseline"]["n"] == 5  # type: ignore[index]
    kept = list(artifacts(desk.folder / "bench" / "rollouts"))
    assert len(kept) >= 15
    sent = json.dumps([seen.body for seen in desk.world.server.requests])
    assert desk.world.server.requests
    assert CANARY not in sent  # not even those of training: nobody who acts is told
    left = everything(desk.folder / "bench")
    assert f"{CANARY}-test".encode() not in left
    assert (f"{CANARY}-train".encode() in left) is labels  # or the search would find nothing anyway
    sessions = json.dumps(
        [session_messages(a.rollout, a.rollout.evaluation) for a in kept], ensure_ascii=False, default=str
    )
    assert CANARY not in sessions
