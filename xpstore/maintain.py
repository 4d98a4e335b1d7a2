"""Keep a store as fast as it was: fold packs, write the commit graph, pack the refs.

Every plan leaves a small pack, and look-ups slow down from about fifty. By itself, after a plan has landed:
small packs are put together by copying them (fold.py, milliseconds), and when that has made many larger ones,
git finds the deltas, packs the refs and writes the commit graph in the background. `git repack --geometric`
only folds packs into one that is at least twice as large as what it swallows, so each object is written again
a few times in its life: n plans cost n log n.

Safe beside writers: a pack with a `.keep` is not touched, and no object is ever dropped, reachable or not
(that is left to the user's own `git gc`, with its two weeks of grace). One process at a time does it; the
others go on writing.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import derived, fold, gitcli, layout, lock, pack
from xpstore.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.git import Repo
    from xpstore.location import Location

MANY = 32
"""Small packs from which on they are folded."""
LARGE = 12
"""Packs that may be left then; more are worth a git process, and far from git's own gc.autoPackLimit."""
EVERY = 16
"""A process looks how many packs there are after its first writing, and once in so many."""
ABANDONED = 600.0
"""Seconds after which a `.keep` of ours has no writer any more."""
FACTOR = 2
"""Each pack has at least this many times the objects of all smaller ones together."""
FILE = "xpstore.maintenance"
PACK_REFS = ["pack-refs", "--all", "--prune"]
GRAPH = ["commit-graph", "write", "--stdin-commits", "--changed-paths", "--split", "--no-progress"]
"""Writes down what each commit changed: `xp log --experience` then skips commits unread."""
GRAPHED = 1000
"""Branches that the graph starts from, main first."""


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance did."""

    packs_before: int
    packs_after: int
    swept: int
    """Files that killed writers had left behind."""


def maintain(loc: Location) -> Maintained | None:
    """Do all of it now; None where another process is at it. Raises RepositoryError where git fails."""
    repo = loc.repo
    with alone(repo) as mine:
        if mine is None:
            return None
        before = _packs(repo)
        with lock.store_lock(repo.common_dir):
            swept = pack.sweep(repo.pack_dir, ABANDONED)
            lock.clear_stale(repo.common_dir, "packed-refs", lock.STALE_PACKED)
        for command in _repack(repo):
            gitcli.run(repo.place, command)
        gitcli.run(repo.place, PACK_REFS)
        if tips := _tips(loc):
            gitcli.run(repo.place, GRAPH, stdin=tips.encode())
        derived.drop(repo)  # it is made anew when it is asked for, without what has gathered in it
        return Maintained(before, _packs(repo), swept)


def after_writing(loc: Location) -> None:
    """Do what is needed, once in a while; to be called after every group of objects."""
    if loc.repo.written % EVERY == 1:
        when_needed(loc)


def when_needed(loc: Location) -> bool:
    """Fold the packs if there are many; return whether that was done. Cheap where there are few.

    The user's `gc.auto = 0` or `maintenance.auto = false` forbids it. What has landed has landed: a failure
    is left to the next time, and to `xp maintain`, which tells it.
    """
    repo = loc.repo
    small = [pack_ for pack_ in fold.packs(repo.pack_dir) if pack_.is_small]
    if len(small) <= MANY or not _is_wanted(repo):
        return False
    with alone(repo) as handle:
        if handle is None:
            return False
        with lock.store_lock(repo.common_dir):
            pack.sweep(repo.pack_dir, ABANDONED)
        # where git has an index over several packs, it has to be git that takes one away
        if not (repo.pack_dir / "multi-pack-index").exists():
            with suppress(RepositoryError):
                fold.fold(repo.pack_dir, small)
                repo.reopen()
        if _packs(repo) > LARGE:
            commands = [*_repack(repo), PACK_REFS, GRAPH]
            return gitcli.start(repo.place, commands, holding=handle, stdin=_tips(loc))
    return True


def _repack(repo: Repo) -> list[list[str]]:
    """Return the git commands that find the deltas, and then fold all packs.

    Between two objects of one pack git looks for a delta only when told to forget the ones there are (-f),
    so this is done first, and only to the packs that have none. A partial clone keeps its packs: git cannot
    fold those that lack objects in this way.
    """
    if repo.is_partial:
        return []
    geometric = ["-c", "pack.threads=1", "repack", f"--geometric={FACTOR}", "-d", "-q"]
    done = [f"--keep-pack={pack_.name}" for pack_ in fold.packs(repo.pack_dir) if not pack_.is_own]
    return [[*geometric, "-f", *done], geometric]


def _packs(repo: Repo) -> int:
    """Count the packs that may be folded."""
    return len(fold.packs(repo.pack_dir))


def _is_wanted(repo: Repo) -> bool:
    return all(repo.setting(key) not in OFF for key in ("gc.auto", "maintenance.auto"))


OFF = ("0", "false", "no", "off", "")
"""How git's configuration says no; any number but 0 is yes."""


def _tips(loc: Location) -> str:
    """Return, a line each, the commits that the graph starts from: all branches but the evidence.

    That branch is never asked what changed a file, and is rewritten when something is forgotten.
    """
    refs = loc.repo.refs(layout.HEADS)
    main = [refs[loc.main_ref]] if loc.main_ref in refs else []
    tips = [*main, *(tip for ref, tip in refs.items() if not ref.endswith("/evidence"))]
    return "".join(f"{tip}\n" for tip in list(dict.fromkeys(tips))[:GRAPHED])


@contextmanager
def alone(repo: Repo, *, wait: bool = False) -> Iterator[int | None]:
    """Yield the open file whose lock says that this process alone moves packs; None where another one does.

    With `wait` it waits for the other one. The lock is held by whoever has the file open, a process started
    meanwhile too.
    """
    handle = os.open(repo.common_dir / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield None
        else:
            yield handle
    finally:
        os.close(handle)
