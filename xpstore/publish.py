"""Write a group of objects as one durable pack and move the refs that make them visible.

pack, synced, `.keep`      no lock
store lock                 a few milliseconds
  ref locks                all of the group
  read again               another value: nothing happened, the caller builds on the new one
  working trees follow     a local change in the way: nothing happened
  refs, in order           evidence before the branch that cites it
"""

from __future__ import annotations

import random
import time
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from xpstore import lock, pack, worktree
from xpstore.errors import RefusedError, RepositoryError
from xpstore.git import Busy, Move, Repo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from xpstore.objects import GitObject

ATTEMPTS = 64
PATIENCE = 6
"""Lost races after which the next attempt builds inside the store lock and cannot lose to our own writers."""
PAUSE = 0.5
"""The longest pause between two attempts, in seconds."""


def retried(repo: Repo, attempt: Callable[[], bool], what: str, *, is_slow: bool = False) -> None:
    """Call `attempt` until it returns True; a slow one never under the lock, however often it loses.

    It returns False, or raises Busy, when another process was faster; it then starts over from what the
    refs hold now, after a pause with jitter. Raises RepositoryError when the attempts run out.
    """
    reason = "other processes keep moving it"
    for number in range(ATTEMPTS):
        lost_often = number >= PATIENCE and not is_slow
        try:
            with lock.store_lock(repo.common_dir) if lost_often else nullcontext():
                if attempt():
                    return
        except Busy as busy:
            reason = str(busy)
        # S311: jitter, no secret
        time.sleep(random.uniform(0, min(PAUSE, 0.002 * 2**number)))  # noqa: S311
    raise RepositoryError(
        f"cannot move {what} in {repo.place}: {reason}",
        hint="if no git command is running there, remove the .lock file that is named",
    )


def publish(repo: Repo, objects: Sequence[GitObject], moves: Sequence[Move]) -> bool:
    """Write the objects and move the refs, all or none; False where a ref is no longer at its `old`.

    Raises Busy where a lock of git is held, RefusedError where a local change is in the way.
    """
    with pack.kept(repo.pack_dir, objects), lock.store_lock(repo.common_dir):
        dead = lock.read_intents(repo.common_dir)
        if dead:
            _recover(repo, dead)
        if any(move.new is None for move in moves):
            _need_free(repo, "packed-refs", lock.STALE_PACKED)
        branches = worktree.by_branch(repo)
        places = [branches.get(move.ref, []) for move in moves]
        intents = tuple(
            lock.Intent(move.ref, move.old, move.new, tuple(map(str, there)))
            for move, there in zip(moves, places, strict=True)
        )
        lock.write_intents(repo.common_dir, intents)
        followed: list[tuple[Move, list[Path]]] = []
        try:
            begin = partial(_begin, repo, list(zip(moves, places, strict=True)), followed)
            if not repo.swap(moves, begin, is_plain=not any(places)):
                return False
        except Busy:
            for move, there in zip(moves, places, strict=True):
                # left behind by a killed process? then the next attempt gets through
                lock.clear_stale(repo.common_dir, move.ref, lock.STALE)
                worktree.clear_index_locks(there, lock.STALE)
            raise
        finally:
            # where this raises Busy, the intents stay for the next writer
            _step_back(repo, followed)
            lock.write_intents(repo.common_dir, ())
    repo.remember(objects)
    return True


def _begin(
    repo: Repo, moves: Iterable[tuple[Move, list[Path]]], followed: list[tuple[Move, list[Path]]]
) -> None:
    """Note that all refs are locked, and bring the working trees to where the refs will be."""
    lock.mark_locked(repo.common_dir)
    for move, places in moves:
        if places and move.new:
            followed.append((move, places))
            try:
                worktree.follow(places, move.old, move.new)
            except (Busy, RefusedError):
                followed.pop()  # it changed nothing
                raise


def _step_back(repo: Repo, followed: Sequence[tuple[Move, list[Path]]]) -> None:
    """Undo what the working trees did for branches that did not move: a full disk, an interrupt."""
    for move, places in followed:
        if move.new and repo.ref(move.ref) == move.old:
            worktree.step_back(places, move.new, move.old)


def _recover(repo: Repo, dead: Sequence[lock.Intent]) -> None:
    """Clean up after a killed writer: its ref locks, and a working tree that ran ahead of its branch."""
    for intent in dead:
        # a ref that it had locked and that has not moved: that lock can be nobody else's
        is_its_own = intent.is_locked and repo.ref(intent.ref) == intent.old
        _need_free(repo, intent.ref, 0 if is_its_own else lock.STALE_OF_DEAD)
    for intent in dead:
        ahead = [p for p in worktree.checked_out(repo, intent.ref) if str(p) in intent.worktrees]
        if ahead and intent.new and repo.ref(intent.ref) == intent.old:
            worktree.clear_index_locks(ahead, 0)
            worktree.step_back(ahead, intent.new, intent.old)


def _need_free(repo: Repo, ref: str, older_than: float) -> None:
    """Remove the lock of a ref if it is so many seconds old. Raises Busy where it is not."""
    if not lock.clear_stale(repo.common_dir, ref, older_than):
        raise Busy(f"{repo.common_dir / ref}.lock exists")
