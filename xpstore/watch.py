"""Follow a branch: hand over its experiences whenever they have changed, each state once.

What the file system reports is a hint to look, nothing more: what is handed over comes from the branch's
commit, which is whole before the branch names it. No file of a working tree is read, so a checkout, merge or
save that is half done is never seen. A hint that is missed (network disks, a ref that is no file of its own)
is made up for by looking every few seconds; one too many (`git pack-refs` looks as if every branch were
deleted) finds nothing new.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import watchfiles

from xpstore import layout, tracking
from xpstore.errors import NotFoundError, RepositoryError
from xpstore.location import Location
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

POLL = 2.0
"""Seconds after which the branch is looked at, whatever was reported."""
QUIET_MS = 50
"""Milliseconds without a report after which a burst of them is over."""
CEILING_MS = 1_000
"""Milliseconds after which the branch is looked at although reports keep coming."""
PATIENCE = 30.0
"""Seconds for which the repository may be unreadable: somebody may be copying or repairing it."""
SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """The experiences of a branch after they have changed."""

    commit: str
    """The snapshot id, for `ExperienceStore.snapshot`."""
    tree: str
    """The tree id of the experiences; the empty tree's where there are none."""
    changed: tuple[str, ...]
    """The names of the pages that were added, changed or taken away since `previous`, sorted."""
    previous: str
    """The commit that was handed over before, or that the watcher began with."""


class ExperienceWatcher:
    """The new snapshots of a branch, to iterate over once: with `for`, or with `async for`.

    It begins with the snapshot at `since`, else with the one that the branch has when the watcher is made,
    and that one is not handed over. Where the branch moves several times before the next one is asked for,
    the last state is handed over. A deleted branch has no new snapshot until it is back. `stop`, from any
    thread, ends the iteration.
    """

    def __init__(
        self, where: Path, branch: str = "", *, store: str | None = None, since: str = "", poll: float = POLL
    ) -> None:
        """Watch a branch, or a remote's copy of one such as origin/main; default: the store's main branch.

        `where` and `store` as for `Location.find`; `poll` in seconds. Raises NotFoundError where there is no
        such branch, or no such commit as `since`.
        """
        self._loc = Location.find(where, store)
        self._ref, tip = _follow(self._loc, branch or self._loc.config.main)
        self._poll = poll
        self._stopped = threading.Event()
        self._unreadable_since = 0.0
        self._commit = self._loc.resolve(since) if since else tip
        self._at = self._commit
        """The commit that was looked at last; it may have the same experiences."""
        self._pages = self._experiences(self._commit)

    def stop(self) -> None:
        """End the iteration; what is being waited for ends within a tenth of a second."""
        self._stopped.set()

    def __iter__(self) -> Iterator[NewSnapshot]:
        """Yield the new snapshots. Raises RepositoryError where the repository stays unreadable."""
        for _ in self._hints():
            found = self._look()
            if found:
                yield found
            if self._stopped.is_set():
                return

    async def __aiter__(self) -> AsyncIterator[NewSnapshot]:
        """Yield the new snapshots; the waiting and reading is done in a thread of its own."""
        loop = asyncio.get_running_loop()
        snapshots = iter(self)
        with ThreadPoolExecutor(1, thread_name_prefix="xp-watch") as thread:
            try:
                while found := await loop.run_in_executor(thread, next, snapshots, None):
                    yield found
            finally:
                self.stop()  # else leaving the block would wait for the next snapshot

    def _hints(self) -> Iterator[None]:
        """Yield when the branch should be looked at, the first time at once."""
        common = self._loc.repo.common_dir
        folders = [folder for name in ("refs", "reftable") if (folder := common / name).is_dir()]
        return hints(folders, self._poll, self._stopped)

    def _look(self) -> NewSnapshot | None:
        try:
            found = self._new_snapshot()
        except RepositoryError:
            now = time.monotonic()
            self._unreadable_since = self._unreadable_since or now
            if now - self._unreadable_since > PATIENCE:
                raise
            return None
        self._unreadable_since = 0.0
        return found

    def _new_snapshot(self) -> NewSnapshot | None:
        commit = self._loc.repo.ref(self._ref)
        if commit is None and not self._loc.repo.common_dir.is_dir():
            raise RepositoryError(f"{self._loc.repo.common_dir} is gone", hint="watch where it is now")
        if commit in {None, self._at}:
            return None
        self._loc.repo.reopen()  # else every pack stays open, and on the disk, that a gc replaces meanwhile
        pages = self._experiences(commit)
        self._at = commit
        if pages == self._pages:
            return None
        before, after = (self._loc.repo.read_tree(tree) for tree in (self._pages, pages))
        changed = sorted(name.removesuffix(SUFFIX) for name in before.changes(after))
        found = NewSnapshot(commit, pages, tuple(changed), self._commit)
        self._commit, self._pages = commit, pages
        return found

    def _experiences(self, commit: str) -> str:
        """Return the tree id of the experiences at a commit."""
        here = self._loc.at(commit)
        entry = here.repo.entry(here.repo.commit(commit).tree, here.in_tree(layout.EXPERIENCES))
        return entry.id if entry and entry.is_tree else EMPTY_TREE


def hints(folders: Sequence[Path], poll: float, stopped: threading.Event) -> Iterator[None]:
    """Yield when something may have changed below folders: at once, on reports, every `poll` seconds.

    Ends within a tenth of a second after `stopped` is set.
    """
    yield
    try:
        for _ in watchfiles.watch(
            *folders,
            watch_filter=None,  # the usual one leaves out what is in .git
            step=QUIET_MS,
            debounce=CEILING_MS,
            stop_event=stopped,
            rust_timeout=max(1, round(1000 * poll)),
            yield_on_timeout=True,
        ):
            yield
    except (OSError, RuntimeError):  # no more watches, or a disk without them
        while not stopped.wait(poll):
            yield


def _follow(loc: Location, branch: str) -> tuple[str, str]:
    """Return the ref to follow and where it is: the branch, else a remote's of that name."""
    ref = loc.branch_ref(branch)
    for name in (ref, f"{layout.REMOTES}{branch}", *tracking.copies(loc.repo, ref)):
        tip = loc.repo.ref(name)
        if tip:
            return name, tip
    raise NotFoundError(f"there is no branch '{branch}'", hint="git branch -a lists branches")
