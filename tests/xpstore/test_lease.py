from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, texts, upsert
from tests.crowd import Crowd, Member, run
from xpstore import lease as leasing
from xpstore.errors import ConflictError, RefusedError, RepositoryError, UsageError
from xpstore.lease import Lease, lease, pauses
from xpstore.location import Location
from xpstore.store import ExperienceStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> ExperienceStore:
    return ExperienceStore(make_store(tmp_path / "s"))


def planner(store: Path, name: str) -> Member:
    """Adds its own line to a page of all, three times, and never plans twice for one of them."""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        mine = ExperienceStore.open(store)
        ready()
        for number in range(3):
            with mine.lease():
                there = texts(mine.location, "main")["all"]
                item = upsert("all", f"{there}- {name} {number}.\n", there)
                mine.commit([make_plan(mine.location, item, rollouts=())])
            report(line=f"- {name} {number}.")

    return work


def test_planners_who_ask_for_it_come_one_after_the_other(store: ExperienceStore, tmp_path: Path) -> None:
    store.commit([make_plan(store.location, upsert("all", page("all")))])
    told = run(tmp_path / "told", {name: planner(tmp_path / "s", name) for name in "abcd"})
    text = texts(store.location, "main")["all"]
    lines = [row["line"] for rows in told.values() for row in rows]
    assert len(lines) == 12
    assert sorted(text.splitlines()[-12:]) == sorted(lines)


def test_it_dies_with_its_process(store: ExperienceStore, tmp_path: Path) -> None:
    crowd = Crowd(tmp_path / "told")

    def hold(ready: Callable[[], None], report: Callable[..., None]) -> None:
        with lease(Location.find(tmp_path / "s"), "main"):
            report(pid=os.getpid())
            ready()
            signal.pause()

    crowd.add("holder", hold)
    crowd.go()
    [row] = crowd.reported("holder")
    with pytest.raises(
        RefusedError, match=rf"of main was not free within 0 s: process {row['pid']} has had it"
    ):
        store.lease(wait=0).__enter__()
    crowd.kill("holder")
    crowd.wait()
    with store.lease(wait=0):
        pass


def test_a_forked_child_does_not_keep_it(store: ExperienceStore) -> None:
    stay = os.pipe()
    with store.lease(wait=0):
        child = os.fork()
        if child == 0:
            os.read(stay[0], 1)
            os._exit(0)
    with store.lease(wait=0):
        pass
    os.write(stay[1], b".")
    os.waitpid(child, 0)
    os.close(stay[0])
    os.close(stay[1])


def test_nobody_needs_one_to_write(store: ExperienceStore) -> None:
    with store.lease(wait=0):
        store.commit([make_plan(store.location, upsert("a", page("a")))])
        with store.lease("train/x", wait=0):
            store.commit([make_plan(store.location, upsert("b", page("b")))], "train/x")


def test_of_all_working_trees_one_has_it(store: ExperienceStore, tmp_path: Path) -> None:
    git(tmp_path / "s", "worktree", "add", "-q", "-b", "other", str(tmp_path / "t"))
    there = ExperienceStore.open(tmp_path / "t")
    with store.lease(wait=0), pytest.raises(RefusedError):
        there.lease(wait=0).__enter__()


def test_it_is_let_go_of_after_an_error(store: ExperienceStore) -> None:
    with pytest.raises(ConflictError), store.lease(wait=0):
        raise ConflictError("no", ())
    with store.lease(wait=0):
        pass


def test_a_branch_of_any_name(store: ExperienceStore) -> None:
    with store.lease("train/经验/" + "x" * 180, wait=0):
        pass
    with pytest.raises(UsageError):
        store.lease("--force", wait=0).__enter__()


def test_a_folder_that_cannot_be_made(store: ExperienceStore) -> None:
    (store.location.repo.common_dir / leasing.FOLDER).write_text("in the way")
    with pytest.raises(RepositoryError, match="cannot open") as caught:
        store.lease(wait=0).__enter__()
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "{", "[1]", '["a", "b"]', "\xff"])
def test_whatever_is_in_the_file_the_refusal_can_be_read(store: ExperienceStore, text: str) -> None:
    with store.lease(wait=0):
        wanted = Lease.of(store.location, "main")
        wanted._file.write_text(text)
        assert not wanted.take()
        assert "of main was not free within 2.5 s" in wanted.refusal(2.5).message


def test_pauses_end_in_time() -> None:
    assert list(pauses(0)) == []
    first = next(pauses(60))
    assert 0 < first <= leasing.LONG
