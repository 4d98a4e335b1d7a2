"""What is forgotten is in no object of the repository, and stays forgotten."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import every_object
from tests.returns_desk import records

if TYPE_CHECKING:
    from tests.e2e.conftest import User

pytestmark = pytest.mark.slow
WORDS = "zanzibar-marmalade-septendecillion"  # that no other object has


@pytest.fixture(scope="module")
def store(user: User) -> User:
    rows = list(records(7))  # as few cases as teach something
    told = next(r for r in rows if r["score"] == 0.0 and len(r["messages"]) > 6)
    told["messages"].insert(2, {"role": "user", "content": f"By the way, my cat is called {WORDS}."})
    (user.where / "all.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    (user.where / "one.jsonl").write_text(json.dumps(told) + "\n", encoding="utf-8")
    user.xp("init", "s")
    store = user.at("s")
    store.xp("train", str(user.where / "all.jsonl"), "--branch", "train/x")
    return store


def has(store: User, text: str) -> bool:
    """Say whether any object of the repository, reachable or not, contains the text."""
    return text.encode() in every_object(store.where)


def rollout_with(store: User, text: str) -> str:
    hits = store.git("grep", "-l", text, "xp/evidence", "--", "rollouts").splitlines()
    (path,) = hits
    return path.rpartition("/")[2].removesuffix(".json")


def test_a_forgotten_rollout_is_in_no_object(store):
    rollout = rollout_with(store, WORDS)
    assert has(store, WORDS)
    preview = store.json("forget", rollout, "--dry-run")
    assert preview["lessons"]
    assert has(store, WORDS)

    done = store.json("forget", rollout[:12], "--yes")
    assert done["rollouts"] == [rollout]
    assert done["lessons"], "the lessons that cite it are listed"
    assert not has(store, WORDS)
    assert rollout not in store.git("ls-tree", "-r", "--name-only", "xp/evidence", "rollouts", "ledger")
    assert WORDS not in store.git("log", "-p", "--all", "--reflog")
    store.git("fsck", "--strict")
    assert store.xp("verify", "train/x")


def test_it_is_not_taken_back(store, user):
    report = store.json("train", str(user.where / "one.jsonl"), "--branch", "train/x", code=1)
    assert report["failures"][0]["stage"] == "receive"
    assert "forgotten" in report["failures"][0]["error"]
    assert not has(store, WORDS)
    again = store.json("train", str(user.where / "all.jsonl"), "--branch", "train/x")
    assert len(again["failures"]) == 1
    assert not has(store, WORDS)
