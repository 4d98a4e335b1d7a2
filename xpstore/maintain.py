"""Keep a store as fast as it was: fold packs, write the commit graph, pack the refs.

Every plan leaves a small pack, and look-ups slow down from about fifty. Folding all of them each time would
take longer every time; `git repack --geometric` only folds packs into one that is at least twice as large
as what it swallows, so each object is written again a few times in its life: n plans cost n log n.

Safe beside writers: a pack with a `.keep` is not touched, and no object is ever dropped, reachable or not
(that is left to the user's own `git gc`, with its two weeks of grace). One process at a time does it; the
others go on writing.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import gitcli, layout, lock, pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.git import Repo
    from xpstore.location import Location

MANY = 50
"""Packs from which on folding is worth a process; git's own gc.autoPackLimit."""
ABANDONED = 600.0
"""Seconds after which a `.keep` of ours has no writer any more."""
FACTOR = 2
"""Each pack has at least this many times the objects of all smaller ones together."""
FILE = "xpstore.maintenance"


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
    with _alone(repo) as mine:
        if not mine:
            return None
        before = _packs(repo)
        with lock.store_lock(repo.common_dir):
            swept = pack.sweep(repo.pack_dir, ABANDONED)
        gitcli.run(repo.place, _REPACK)
        gitcli.run(repo.place, ["pack-refs", "--all", "--prune"])
        _graph(loc)
        return Maintained(before, _packs(repo), swept)


def when_needed(loc: Location) -> bool:
    """Fold the packs if there are many; return whether that was done. Cheap where there are few.

    The user's `gc.auto = 0` or `maintenance.auto = false` forbids it. What has landed has landed: a failure
    is left to the next time, and to `xp maintain`, which tells it.
    """
    repo = loc.repo
    if _packs(repo) <= MANY or not _is_wanted(repo):
        return False
    with _alone(repo) as mine:
        if not mine:
            return False
        with lock.store_lock(repo.common_dir):
            pack.sweep(repo.pack_dir, ABANDONED)
        return gitcli.attempt(repo.place, _REPACK).code == 0


_REPACK = ["repack", f"--geometric={FACTOR}", "-d", "-q"]


def _packs(repo: Repo) -> int:
    """Count the packs that may be folded."""
    try:
        with os.scandir(repo.pack_dir) as entries:
            names = {entry.name for entry in entries}
    except FileNotFoundError:
        return 0
    return sum(name.endswith(".pack") and f"{name[:-5]}.keep" not in names for name in names)


def _is_wanted(repo: Repo) -> bool:
    """Ask git's configuration: `--type=bool` reads any number but 0 as true."""
    answers = (
        gitcli.attempt(repo.place, ["config", "--type=bool", "--get", key]).out.strip()
        for key in ("gc.auto", "maintenance.auto")
    )
    return b"false" not in answers


def _graph(loc: Location) -> None:
    """Write the commit graph of all branches but the evidence, with what each commit changed.

    `xp log --experience` then skips commits unread. The evidence branch is never asked what changed a file,
    and is rewritten when something is forgotten.
    """
    tips = {tip for ref, tip in loc.repo.refs(layout.HEADS).items() if not ref.endswith("/evidence")}
    listed = "".join(f"{tip}\n" for tip in sorted(tips)).encode()
    command = ["commit-graph", "write", "--stdin-commits", "--changed-paths", "--split", "--no-progress"]
    if listed:
        gitcli.run(loc.repo.place, command, stdin=listed)


@contextmanager
def _alone(repo: Repo) -> Iterator[bool]:
    """Yield whether this process is the only one at it; does not wait."""
    handle = os.open(repo.common_dir / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
