from __future__ import annotations

import json

import pytest

from tests.builders import git, make_store, texts
from tests.fickle import Fickle
from tests.session_world import committed, quick, run, session
from trainer.domain import EditResult
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.location import Location

BASE = "viking://user/default/memories/experiences"
PARTS = ("history", "archive_001", "memory_diff.json")


class Renaming(Fickle):
    """Replaces page-0 by another page that supersedes it, as a merge may decide."""

    async def edit(self, analyses, experience_set, context):
        (one,) = analyses
        if experience_set.get("page-0") is None:
            return await super().edit(analyses, experience_set, context)
        after = experience_set.get("page-0").text.replace("page-0", "better")
        gradient = PatchSemanticGradient(
            before_file=None,
            after_file=MemoryFile(name="better", content=after + f"- {one.rollout.id} more.\n"),
            rationale="it is wider",
            evidence_trajectory_uris=tuple(t.uri for t in one.trajectories),
            rollouts=(one.rollout.id,),
            supersedes=("page-0",),
            confidence=0.5,
        )
        return EditResult(gradients=(gradient,))


@pytest.fixture
def store(tmp_path, monkeypatch):
    quick(monkeypatch, Renaming)
    return make_store(tmp_path / "s").repo.workdir


def test_every_page_that_a_commit_wrote_or_deleted_is_told(store):
    """Fault 12: a page that was superseded is among the deletes, whoever decided it."""

    async def work(service):
        done = [await committed(service, f"s{n}", session("page-0")) for n in range(2)]
        return done, [json.loads(await service.read_file("default", f"s{n}", PARTS)) for n in range(2)]

    done, (first, second) = run(store, work)
    (added,) = first["operations"]["adds"]
    assert (added["uri"], added["memory_type"]) == (f"{BASE}/page-0.md", "experiences")
    assert added["after"].startswith("## ")
    assert first["summary"] == {"total_adds": 1, "total_updates": 0, "total_deletes": 0, "total_skipped": 0}
    (deleted,), (better,) = second["operations"]["deletes"], second["operations"]["adds"]
    assert (deleted["uri"], deleted["deleted_content"]) == (f"{BASE}/page-0.md", added["after"])
    assert better["uri"] == f"{BASE}/better.md"
    assert {deleted["commit"], better["commit"]} == set(done[1]["result"]["commits"])
    assert second["trace_id"] == done[1]["result"]["trace_id"]
    assert second["archive_uri"] == "viking://user/default/sessions/s1/history/archive_001"
    assert list(texts(Location.find(store), "train/live")) == ["better"]


def test_it_follows_a_plan_to_the_commit_that_has_it_now_and_says_where_there_is_none(store):
    async def work(service):
        task = await committed(service, "s", session("page-1"))
        (commit,) = task["result"]["commits"]
        git(store, "commit", "-q", "--allow-empty", "-m", "By hand")
        git(store, "checkout", "-q", "train/live")
        git(store, "rebase", "-q", "--force-rebase", "main")
        git(store, "checkout", "-q", "main")
        moved = json.loads(await service.read_file("default", "s", PARTS))
        git(store, "branch", "-q", "-D", "train/live")
        return commit, moved, json.loads(await service.read_file("default", "s", PARTS))

    commit, moved, gone = run(store, work)
    (added,) = moved["operations"]["adds"]
    assert added["commit"] != commit
    assert gone["summary"]["total_adds"] == 0
    assert "no branch" in gone["skipped_operations"][0]["reason"]
