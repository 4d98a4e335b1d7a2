"""What was undone does not come back with the next batch, however it was undone, and in which clone."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.returns_desk import records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.conftest import User

pytestmark = pytest.mark.slow
RULE = "Do not call `refund_order` when the `opened` of `order_id` is `yes`."
PAGE = "experiences/refund-order.md"


def write(path: Path, cases: int) -> str:
    lines = [json.dumps(record) + "\n" for record in records(cases)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def more(user: User) -> str:
    """The next batch: all that was learned from, and one case, too little to teach anything by itself."""
    return write(user.where / "more.jsonl", 8)


@pytest.fixture(scope="module")
def taught(user: User) -> User:
    """A store whose main has learned the rule, in the newest commit."""
    user.xp("init", "taught")
    user.at("taught").xp("train", write(user.where / "old.jsonl", 7), "--branch", "main")
    return user.at("taught")


@pytest.fixture
def store(taught: User, tmp_path: Path) -> User:
    shutil.copytree(taught.where, tmp_path / "s")
    made = taught.at(tmp_path / "s")
    assert RULE in (made.where / PAGE).read_text(encoding="utf-8")
    return made


def by_hand(store: User) -> None:
    file = store.where / PAGE
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    at = lines.index(f"- {RULE}\n")
    file.write_text("".join(lines[:at] + lines[at + 2 :]), encoding="utf-8")
    store.git("commit", "-qam", "I disagree")


def whole_page(store: User) -> None:
    store.git("rm", "-q", PAGE)
    store.git("commit", "-qm", "Away")


WAYS: dict[str, Callable[[User], object]] = {
    "a line by hand": by_hand,
    "a page by hand": whole_page,
    "git revert": lambda store: store.git("revert", "--no-edit", "HEAD"),
    "xp revert": lambda store: store.xp("revert", "HEAD"),
}


def assert_stays_away(store: User, batch: str) -> None:
    report = store.json("train", batch, "--branch", "main")
    assert f"refund-order: {RULE}" in report["report"]["undone"]
    file = store.where / PAGE
    assert not file.exists() or RULE not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("way", WAYS)
def test_the_next_batch_does_not_bring_it_back(store: User, more: str, way: str):
    WAYS[way](store)
    assert_stays_away(store, more)


def test_a_whole_run_that_was_undone_stays_away(store: User, more: str):
    run = store.json("log")["commits"][0]["plans"][0]["run_id"]
    undos = store.json("revert", "--run", run)["undos"]
    assert len(undos) == 2
    assert store.git("ls-files", "experiences") == ""
    store.xp("verify")
    assert_stays_away(store, more)


def test_what_one_clone_undid_stays_away_in_another(store: User, more: str, tmp_path: Path):
    store.git("clone", "-q", "--bare", ".", str(tmp_path / "hub.git"))
    for name in ("one", "two"):
        store.git("clone", "-q", str(tmp_path / "hub.git"), str(tmp_path / name))
    one, two = store.at(tmp_path / "one"), store.at(tmp_path / "two")
    one.git("revert", "--no-edit", "HEAD")
    one.git("push", "-q", "origin", "main")
    two.git("pull", "-q", "--ff-only")
    assert_stays_away(two, more)
