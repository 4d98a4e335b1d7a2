"""The store lock: one writer of this program at a time moves refs in a repository.

An OS file lock in the common git directory plus an in-process lock. It is held for milliseconds, never
while a plan is rendered or a model thinks, and dies with its process. The compare-and-swap of the refs is
the truth; the lock only spares our own writers the retries, and tells a dead writer from a live one.

While it is held, its file names what is being moved. A writer that finds it not empty follows a killed
one, and its `<ref>.lock` files, which git never removes by itself, can be told apart from git's.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "xpstore.lock"
STALE = 10.0
"""Seconds after which any `<ref>.lock` counts as left behind: git holds one for milliseconds."""
STALE_OF_DEAD = 0.5
"""The same for a ref that a killed writer of ours was about to lock."""
STALE_PACKED = 60.0
"""The same for `packed-refs.lock`: to pack many refs takes git seconds."""
WANTED, LOCKED = b" ", b"!"
"""What the file begins with."""


@dataclass
class _Held:
    guard: threading.RLock = field(default_factory=threading.RLock)
    depth: int = 0
    handle: int = -1


_held: dict[str, _Held] = {}


@contextmanager
def store_lock(common_dir: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the store lock of a repository; may be taken again by the thread that holds it.

    It is waited for; without `wait` what is yielded says whether it is held.
    """
    held = _held.get(str(common_dir)) or _held.setdefault(str(common_dir), _Held())
    if not held.guard.acquire(blocking=wait):
        yield False
        return
    try:
        if held.depth == 0:
            held.handle = _open(f"{common_dir}/{FILE}", wait=wait)
        is_held = held.handle >= 0
        held.depth += is_held
        try:
            yield is_held
        finally:
            held.depth -= is_held
            if is_held and held.depth == 0:
                unlock(held.handle)
    finally:
        held.guard.release()


def unlock(handle: int) -> None:
    """Unlock and close a file: closing alone unlocks nothing that a forked child has open too."""
    fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def _after_fork() -> None:
    """In a forked child: none of the locks is its own, and it must not keep one when the parent is killed."""
    for held in _held.values():
        if held.depth:
            os.close(held.handle)
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)


def _open(path: str, *, wait: bool) -> int:
    """Return the open and locked file; -1 where another process has it locked and it is not waited for."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RepositoryError(
            f"cannot open {path}: {error.strerror or error}", hint="the git directory must be writable"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        return -1
    except BaseException:
        os.close(handle)
        raise
    return handle


@dataclass(frozen=True, slots=True)
class Intent:
    """What a writer is about to do to a branch and to the working trees that have it checked out."""

    ref: str
    old: str | None
    new: str | None
    worktrees: tuple[str, ...] = ()
    is_locked: bool = False
    """Whether the writer had locked all the refs of its group, each at its `old`."""


def write_intents(common_dir: Path, intents: tuple[Intent, ...]) -> None:
    """Note what is going to be moved; () when it is done. The store lock is held."""
    rows = [[i.ref, i.old, i.new, list(i.worktrees)] for i in intents]
    handle = _held[str(common_dir)].handle
    try:
        os.ftruncate(handle, 0)
        if rows:
            os.pwrite(handle, WANTED + json.dumps(rows).encode(), 0)
    except OSError as error:
        raise RepositoryError(
            f"cannot write {common_dir / FILE}: {error.strerror or error}",
            hint="check free space; nothing was changed",
        ) from error


def mark_locked(common_dir: Path) -> None:
    """Note that all the refs are locked now: the locks that are found later are this writer's."""
    with suppress(OSError):  # then whoever comes after a kill waits a little longer
        os.pwrite(_held[str(common_dir)].handle, LOCKED, 0)


def read_intents(common_dir: Path) -> tuple[Intent, ...]:
    """Return what a killed writer was moving; () after a clean end. The store lock is held."""
    handle = _held[str(common_dir)].handle
    size = os.fstat(handle).st_size
    if not size:
        return ()
    data = os.pread(handle, size, 0)
    try:
        return tuple(_intent(row, is_locked=data[:1] == LOCKED) for row in json.loads(data[1:]))
    except (ValueError, TypeError):
        return ()  # killed while it wrote this, or emptied by a loss of power: nothing was moved yet


def _intent(row: object, *, is_locked: bool) -> Intent:
    match row:
        case [str(ref), str() | None as old, str() | None as new, [*trees]]:
            return Intent(ref, old, new, tuple(map(str, trees)), is_locked)
    raise ValueError("no row of intents")


def clear_stale(common_dir: Path, ref: str, older_than: float) -> bool:
    """Remove `<ref>.lock` if it is so many seconds old, and return whether the ref is free now.

    Every later writer, git included, fails on such a file. Our own writers hold the store lock as long as
    they hold one, and the caller has the store lock now: what is left of one has no owner any more.
    """
    path = common_dir / f"{ref}.lock"
    try:
        age = time.time() - path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return True
    if age < older_than:
        return False
    path.unlink(missing_ok=True)
    return True
