"""A lease on a branch: planning and applying strictly one after the other, for those who ask for it.

Plans are optimistic and need no lease. It is for a planner whose work is too dear to do twice: whoever takes
the lease reads the branch, plans, applies and lets go. It binds nobody else: a writer that does not ask never
waits for it. It is an OS file lock on a file for each branch, so it dies with its process.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import time
from contextlib import contextmanager, suppress
from hashlib import sha1
from typing import TYPE_CHECKING

from xpstore import layout
from xpstore.errors import RefusedError, RepositoryError
from xpstore.lock import unlock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from xpstore.location import Location

FOLDER = "xpstore.leases"
WAIT = 300.0
"""Seconds that a lease is waited for: those before may have a model that thinks."""
SHORT, LONG = 0.002, 0.05
"""Bounds of the pause between two looks, in seconds."""


class Lease:
    """The right to plan on a branch of this repository, all working trees included: one at a time has it."""

    def __init__(self, common_dir: Path, ref: str) -> None:
        self._ref = ref
        name = sha1(ref.encode(), usedforsecurity=False).hexdigest()  # a branch may have any name
        self._file = common_dir / FOLDER / name
        self._handle = -1

    @classmethod
    def of(cls, loc: Location, branch: str) -> Lease:
        """Return the lease of a branch, which need not exist yet; it is not taken. Raises UsageError."""
        return cls(loc.repo.common_dir, loc.branch_ref(branch))

    def take(self) -> bool:
        """Take it if it is free, and return whether it was. Raises RepositoryError where the disk says no."""
        handle = self._open()
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        with suppress(OSError):  # a full disk: it says less to those who wait, and is held all the same
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps([os.getpid(), int(time.time())]).encode(), 0)
        self._handle = handle
        return True

    def release(self) -> None:
        """Let go of it; nothing where it is not held."""
        if self._handle >= 0:
            unlock(self._handle)
            self._handle = -1

    def refusal(self, waited: float) -> RefusedError:
        """Return the error of somebody who has waited so many seconds for nothing."""
        branch = self._ref.removeprefix(layout.HEADS)
        return RefusedError(
            f"the lease of {branch} was not free within {waited:g} s: {self._holder()}",
            hint="wait longer, or see what that process does; plans can be applied without a lease",
        )

    def _holder(self) -> str:
        try:
            match json.loads(self._file.read_bytes()):
                case [int(pid), int(since)]:
                    ago = max(0, int(time.time()) - since)
                    return f"process {pid} has had it for {ago} s"
        except (OSError, ValueError):
            return "it was taken this moment"
        return "another process has it"

    def _open(self) -> int:
        try:
            self._file.parent.mkdir(exist_ok=True)
            return os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RepositoryError(
                f"cannot open {self._file}: {error.strerror or error}",
                hint="the git directory must be writable",
            ) from error


def pauses(wait: float) -> Iterator[float]:
    """Yield pauses to make between looks, in seconds, until `wait` seconds are over."""
    end = time.monotonic() + wait
    longest = SHORT
    while (left := end - time.monotonic()) > 0:
        yield min(left, random.uniform(SHORT, longest))  # noqa: S311 - jitter, no secret
        longest = min(LONG, 2 * longest)


@contextmanager
def lease(loc: Location, branch: str, *, wait: float = WAIT) -> Iterator[None]:
    """Hold the lease of a branch during the block; wait at most `wait` seconds for it.

    Raises RefusedError, which names the process that has it, when that is over. A thread that holds it must
    not ask again.
    """
    wanted = Lease.of(loc, branch)
    pause = pauses(wait)
    while not wanted.take():
        seconds = next(pause, None)
        if seconds is None:
            raise wanted.refusal(wait)
        time.sleep(seconds)
    try:
        yield
    finally:
        wanted.release()
