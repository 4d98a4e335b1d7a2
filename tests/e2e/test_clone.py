"""An ordinary `git clone` of a store goes on where the store is: it has the evidence from its remote only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import every_object
from tests.returns_desk import records

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import User

pytestmark = pytest.mark.slow
CASES, MORE = 7, 10
EVIDENCE = "xp/evidence"


def write(path: Path, cases: int) -> str:
    lines = [json.dumps(record) + "\n" for record in records(cases)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def files(user: User) -> tuple[str, str]:
    """What was learned already, and more that has it all."""
    return write(user.where / "old.jsonl", CASES), write(user.where / "more.jsonl", MORE)


@pytest.fixture(scope="module")
def hub(user: User, files: tuple[str, str]) -> User:
    """The store that is cloned, bare; its candidate train/returns is not merged."""
    user.xp("init", "s")
    report = user.at("s").json("train", files[0], "--branch", "train/returns")
    assert report["plans"]
    user.git("clone", "-q", "--bare", "s", "hub.git")
    return user.at("hub.git")


@pytest.fixture
def clone(user: User, hub: User, tmp_path: Path) -> User:
    user.git("clone", "-q", str(hub.where), str(tmp_path / "c"))
    return user.at(tmp_path / "c")


@pytest.mark.parametrize(
    "branch", [(), pytest.param(("--branch", "train/returns"), marks=pytest.mark.stress)]
)
def test_what_the_remote_learned_is_learned(clone, files, branch):
    before = clone.git("for-each-ref")
    clone.xp("verify")
    clone.xp("verify", "origin/train/returns")
    report = clone.json("train", files[0], *branch)
    assert len(report["already"]) == report["rollouts"]
    assert "already learned" in clone.xp("train", files[0], *branch)
    assert clone.git("for-each-ref") == before, "nothing was committed"


def test_new_evidence_is_pushed_on_top(clone, files):
    there = clone.git("rev-parse", f"origin/{EVIDENCE}")
    report = clone.json("train", files[1], "--branch", "train/more")
    assert 0 < len(report["already"]) < report["rollouts"]
    clone.git("merge-base", "--is-ancestor", there, EVIDENCE)
    assert clone.git("rev-parse", EVIDENCE) != there == clone.git("rev-parse", f"origin/{EVIDENCE}")
    clone.xp("verify", "train/more")
    clone.git("push", "-q", "--dry-run", "origin", EVIDENCE, "train/more")


def test_a_candidate_of_the_remote_is_continued(clone, files):
    clone.json("train", files[1], "--branch", "train/returns")
    clone.git("merge-base", "--is-ancestor", "origin/train/returns", "train/returns")


def test_main_is_only_at_the_remote(user, hub, files, tmp_path):
    user.git("clone", "-q", "-b", "train/returns", str(hub.where), str(tmp_path / "c"))
    clone = user.at(tmp_path / "c")
    assert clone.json("status")["candidates"][0]["branch"] == "train/returns"
    clone.xp("context", "a refund")
    clone.xp("search", "a refund", code=1)  # main has no page yet
    assert clone.xp("log", "main..train/returns")
    assert clone.xp("diff", "main...train/returns")
    report = clone.json("train", files[1])
    main = clone.git("rev-parse", "origin/main")
    assert clone.git("merge-base", report["branch"], "origin/main") == main
    assert clone.git("branch", "--list", "main") == ""
    clone.xp("verify")


def test_what_is_forgotten_in_a_clone_is_in_no_object_of_it(clone):
    path = clone.git("ls-tree", "-r", "--name-only", f"origin/{EVIDENCE}", "rollouts").splitlines()[0]
    rollout = path.rpartition("/")[2].removesuffix(".json")
    text = clone.git("show", f"origin/{EVIDENCE}:{path}").encode()
    others = clone.git("ls-tree", "-r", "--name-only", f"origin/{EVIDENCE}", "rollouts").splitlines()[1:]
    assert text in every_object(clone.where)
    done = clone.json("forget", rollout, "--yes")
    assert done["remotes"] == [f"refs/remotes/origin/{EVIDENCE}"]
    assert text not in every_object(clone.where)
    assert clone.git("ls-tree", "-r", "--name-only", EVIDENCE, "rollouts").splitlines() == others
    clone.git("fsck", "--strict")
    clone.xp("verify")


def test_remotes_that_disagree_are_a_choice(clone, files):
    clone.xp("train", files[1])
    clone.git("remote", "add", "fork", str(clone.where))
    clone.git("fetch", "-q", "fork")
    clone.git("branch", "-q", "-D", EVIDENCE)
    said = clone.xp("train", files[0], code=2)
    assert f"git branch {EVIDENCE} fork/{EVIDENCE}" in said
    clone.git("branch", "-q", EVIDENCE, f"fork/{EVIDENCE}")
    assert "already learned" in clone.xp("train", files[0])
