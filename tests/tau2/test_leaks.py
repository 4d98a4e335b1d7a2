"""No label of a test leaves the service: not to a model, not to the store, not to a file, not to a session.

Every test task has canaries in all of its labels; what the models see and all that a run leaves is searched.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.tau2_desk import Desk
from tests.tau2_world import AGENT, USER, World, load
from trainer.bench.artifacts import artifacts
from trainer.components.session_commit import session_messages
from trainer.env_kit.runtime import CaseQuery, RolloutRequest
from trainer.environments.tau2 import guard
from trainer.environments.tau2.runtime import make
from xpstore.experience import ExperienceSet

if TYPE_CHECKING:
    from collections.abc import Iterator
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


def leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from leaves(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


@pytest.mark.usefixtures("tau2_here")
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_what_the_labels_say_and_nothing_else_does_is_nowhere(models: LlmServer, domain: str):
    """By their own values, without canaries: an agent that asks for nothing is told nothing."""
    runtime = make({"agent_model": "m", "agent_base_url": models.url}, {})
    models.on(USER, lambda seen: "###STOP###" if seen.messages[2:] else "Hello there.")
    models.on(AGENT, "I see.")
    policy = policy_of(domain)
    searched = 0
    for case in runtime.cases(CaseQuery(domain=domain, split="test"))[:10]:
        task = runtime.tasks(domain).task_of(case)
        criteria = task["evaluation_criteria"]
        said = json.dumps(task["user_scenario"], ensure_ascii=False) + policy
        labels = [a["arguments"] for a in criteria["actions"] or []]
        labels += [criteria.get("nl_assertions"), criteria.get("communicate_info")]
        secrets = {text for text in leaves(labels) if len(text) >= 5 and text not in said}
        searched += len(secrets)
        first = len(models.requests)
        request = RolloutRequest(
            case=case,
            experiences=ExperienceSet(root_uri="e", snapshot_id="c"),
            snapshot_id="c",
            seed=3,
            training=False,
            options={},
            metadata={},
        )
        rollout = asyncio.run(runtime.run(request))
        asked = [seen.body["messages"] for seen in models.requests[first:]]
        assert len(asked) == 3
        told = json.dumps([asked, rollout.model_dump(mode="json")], ensure_ascii=False)
        assert [secret for secret in secrets if secret in told] == []
    assert searched


def policy_of(domain: str) -> str:
    guard.check_here()
    from tau2.registry import registry  # noqa: PLC0415  # only where tau2 is

    return str(registry.get_env_constructor(domain)().get_policy())
