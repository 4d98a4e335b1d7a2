from __future__ import annotations

import asyncio
import queue
import shutil
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import watchfiles

from tests.builders import git, make_store, page
from xpstore import watch
from xpstore.errors import NotFoundError, RepositoryError, UsageError
from xpstore.watch import ExperienceWatcher, NewSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = 60
"""Seconds; only a fault takes as long."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        return make_store(tmp_path_factory.mktemp("made") / "desk").repo.place


@pytest.fixture
def desk(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "desk")


def save(desk: Path, name: str, *lines: str) -> str:
    """Commit a page with git, and return the commit."""
    (desk / "experiences").mkdir(exist_ok=True)
    (desk / "experiences" / f"{name}.md").write_text(page(name, *lines))
    git(desk, "add", "-A")
    git(desk, "commit", "-qm", f"Teach {name}")
    return git(desk, "rev-parse", "HEAD")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files the way Linux shows them")
def test_packs_that_a_gc_replaced_do_not_stay_open(desk: Path) -> None:
    opened = []
    watcher = ExperienceWatcher(desk)
    for number in range(4):
        commit = save(desk, "refund", f"{number}")
        git(desk, "gc", "-q", "--prune=now")
        assert next(iter(watcher)).commit == commit
        opened.append(len(list(Path("/proc/self/fd").iterdir())))
    assert opened[-1] == opened[1]


class Seen:
    """A watcher in a thread of its own, and what it has handed over."""

    def __init__(self, watcher: ExperienceWatcher) -> None:
        self.watcher = watcher
        self._found: queue.SimpleQueue[NewSnapshot | BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            for snapshot in self.watcher:
                self._found.put(snapshot)
        except RepositoryError as error:
            self._found.put(error)
        self._found.put(None)

    def next(self) -> NewSnapshot | BaseException | None:
        return self._found.get(timeout=LONG)

    def close(self) -> None:
        self.watcher.stop()
        self._thread.join(LONG)
        assert not self._thread.is_alive()


@contextmanager
def watching(desk: Path, branch: str = "", **options: object) -> Iterator[Seen]:
    seen = Seen(ExperienceWatcher(desk, branch, **options))
    try:
        yield seen
    finally:
        seen.close()


def tree_at(desk: Path, commit: str) -> str:
    return git(desk, "rev-parse", f"{commit}:experiences")


def test_each_new_snapshot_is_handed_over_once_with_the_names_that_changed(desk):
    start = git(desk, "rev-parse", "HEAD")
    with watching(desk) as seen:
        first = save(desk, "refund")
        assert seen.next() == NewSnapshot(first, tree_at(desk, first), ("refund",), start)
        (desk / "experiences" / "refund.md").unlink()
        second = save(desk, "exchange")
        assert seen.next() == NewSnapshot(second, tree_at(desk, second), ("exchange", "refund"), first)


def test_a_second_save_by_rename_is_seen_and_packing_the_refs_is_no_change(desk):
    with watching(desk) as seen:
        first = save(desk, "refund", "One.")  # git saves a ref by renaming its lock file
        assert seen.next().commit == first
        second = save(desk, "refund", "Two.")
        assert seen.next().commit == second
        git(desk, "pack-refs", "--all")
        third = save(desk, "refund", "Three.")
        found = seen.next()
        assert (found.commit, found.previous) == (third, second)
        git(desk, "branch", "-q", "old", "HEAD~1")
        git(desk, "pack-refs", "--all", "--prune")
        git(desk, "update-ref", "refs/heads/main", save(desk, "refund", "Four."))
        assert seen.next().previous == third


def test_a_commit_that_changes_no_experience_is_none(desk):
    with watching(desk) as seen:
        (desk / "code.py").write_text("pass\n")
        git(desk, "add", "code.py")
        git(desk, "commit", "-qm", "Code")
        git(desk, "commit", "-q", "--allow-empty", "-m", "Nothing")
        start = git(desk, "rev-parse", "HEAD~2")
        commit = save(desk, "refund")
        found = seen.next()
        assert (found.commit, found.previous) == (commit, start)


def test_a_force_update_is_a_change_and_so_is_a_branch_that_came_back_as_another(desk):
    first, second = save(desk, "refund"), save(desk, "exchange")
    git(desk, "checkout", "-q", "--detach")
    with watching(desk, "main") as seen:
        git(desk, "update-ref", "refs/heads/main", first)
        assert (seen.next().changed) == ("exchange",)
        git(desk, "update-ref", "-d", "refs/heads/main")
        git(desk, "update-ref", "refs/heads/main", first)  # as it was: nothing new
        git(desk, "update-ref", "-d", "refs/heads/main")
        git(desk, "update-ref", "refs/heads/main", second)
        found = seen.next()
        assert (found.commit, found.previous, found.changed) == (second, first, ("exchange",))


def test_a_state_that_no_file_event_tells_of_is_found_by_looking(desk, monkeypatch):
    def deaf(*_folders: Path, **_options: object) -> Iterator[set[object]]:
        raise OSError(28, "no more watches")

    monkeypatch.setattr(watchfiles, "watch", deaf)
    with watching(desk, poll=0.05) as seen:
        commit = save(desk, "refund")
        assert seen.next().commit == commit


def test_a_ref_that_is_no_file_of_its_own_is_followed(desk):
    commit = save(desk, "refund")
    start = git(desk, "rev-parse", "HEAD~1")
    git(desk, "checkout", "-q", "--detach")
    git(desk, "update-ref", "refs/heads/main", start)
    git(desk, "pack-refs", "--all")
    packed = desk / ".git" / "packed-refs"
    with watching(desk, "main", poll=0.05) as seen:
        new = packed.with_suffix(".new")
        new.write_text(packed.read_text().replace(f"{start} refs/heads/main", f"{commit} refs/heads/main"))
        new.rename(packed)
        assert seen.next().commit == commit


def test_what_came_since_a_commit_is_handed_over_at_once(desk):
    start, second = git(desk, "rev-parse", "HEAD"), save(desk, "refund")
    with watching(desk, since=start) as seen:
        assert seen.next() == NewSnapshot(second, tree_at(desk, second), ("refund",), start)


def test_what_came_between_making_and_iterating_is_not_lost(desk):
    watcher = ExperienceWatcher(desk)
    commit = save(desk, "refund")
    seen = Seen(watcher)
    assert seen.next().commit == commit
    seen.close()


def test_a_branch_whose_commit_is_not_here_yet_is_waited_for(desk, tmp_path):
    other = shutil.copytree(desk, tmp_path / "other")
    commit = save(other, "refund")
    git(desk, "checkout", "-q", "--detach")
    with watching(desk, "main", poll=0.2) as seen:
        (desk / ".git" / "refs" / "heads" / "main").write_text(f"{commit}\n")
        objects = ["git", "rev-list", "--objects", commit, "--not", "HEAD~1"]
        listed = subprocess.run(objects, cwd=other, capture_output=True, check=True).stdout
        ids = b"\n".join(line.split(b" ")[0] for line in listed.splitlines())
        command = ["git", "pack-objects", "-q", str(desk / ".git" / "objects" / "pack" / "pack")]
        subprocess.run(command, cwd=other, input=ids, capture_output=True, check=True)
        assert seen.next().commit == commit


def test_a_repository_that_stays_broken_is_an_error(desk, monkeypatch):
    monkeypatch.setattr(watch, "PATIENCE", 0.05)
    git(desk, "checkout", "-q", "--detach")
    with watching(desk, "main", poll=0.01) as seen:
        (desk / ".git" / "refs" / "heads" / "main").write_text(f"{'1' * 40}\n")
        assert "which is missing" in str(seen.next())


def test_a_repository_that_goes_away_is_an_error(desk, monkeypatch):
    monkeypatch.setattr(watch, "PATIENCE", 0.05)
    with watching(desk, poll=0.01) as seen:
        desk.rename(desk.with_name("elsewhere"))
        assert "is gone" in str(seen.next())


def test_a_remotes_copy_is_followed(desk, tmp_path):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(desk), str(clone))
    commit = save(desk, "refund")
    with watching(clone, "origin/main") as seen:
        git(clone, "fetch", "-q")
        assert seen.next().commit == commit


def test_a_burst_ends_with_its_last_state(desk):
    with watching(desk) as seen:
        last = [save(desk, f"page-{number}") for number in range(8)][-1]
        names: list[str] = []
        while True:
            found = seen.next()
            names += found.changed
            if found.commit == last:
                break
    assert names == [f"page-{number}" for number in range(8)]


def test_stopping_ends_the_iteration(desk):
    seen = Seen(ExperienceWatcher(desk))
    seen.watcher.stop()
    assert seen.next() is None
    seen.close()


def test_no_such_branch_store_or_commit(desk):
    with pytest.raises(NotFoundError, match="there is no branch 'nowhere'"):
        ExperienceWatcher(desk, "nowhere")
    with pytest.raises(UsageError):
        ExperienceWatcher(desk, "a..b")
    with pytest.raises(NotFoundError):
        ExperienceWatcher(desk, since="nothing")


def test_async_iteration_gives_the_same_and_ends_with_its_task(desk):
    async def first_two() -> list[str]:
        found = []
        watcher = ExperienceWatcher(desk, poll=0.2)
        wanted = [save(desk, "refund")]
        async for snapshot in watcher:
            found.append(snapshot.commit)
            if len(found) == 2:
                break
            wanted.append(save(desk, "exchange"))
        assert found == wanted
        return found

    async def cancelled() -> None:
        async def forever() -> None:
            async for _ in ExperienceWatcher(desk):
                pass

        started = asyncio.create_task(forever())
        await asyncio.sleep(0)
        started.cancel()
        with pytest.raises(asyncio.CancelledError):
            await started

    assert len(asyncio.run(asyncio.wait_for(first_two(), LONG))) == 2
    asyncio.run(asyncio.wait_for(cancelled(), LONG))
    assert not [t for t in threading.enumerate() if t.name.startswith("xp-watch")]
