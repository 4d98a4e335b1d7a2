"""The short way to move branches: git's own protocol, a lock file that is renamed over the ref.

For branches that nobody has checked out and that have a file and a reflog: nearly every plan. Anything else
(a new, packed, symbolic or checked-out ref, no reflog yet) is left to libgit2, which asks the configuration,
looks at everything more than once, and takes as long for it as the rest of a plan's writing.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.durable import flush

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.objects import Person

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
LOG = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Move:
    """One ref to move. `old` None = it must not exist; `new` None = delete it."""

    ref: str
    old: str | None
    new: str | None
    reason: str
    """The line in the reflog."""


def value(git_dir: str, ref: str) -> str:
    """Return the commit id in the file of a plain ref; "" for any other ref, or none."""
    try:
        data = _read(f"{git_dir}/{ref}")
    except OSError:
        return ""
    return data[:-1].decode("ascii", "replace") if len(data) == 41 and data.endswith(b"\n") else ""


def _read(file: str) -> bytes:
    handle = os.open(file, READ)
    try:
        return os.read(handle, 4096)
    finally:
        os.close(handle)


class PlainRefs:
    """Some refs of one git directory, locked together. Made for one group of moves, then released."""

    def __init__(self, git_dir: str, moves: Sequence[Move]) -> None:
        self._git_dir = git_dir
        self._moves = moves
        self._locks: dict[str, int] = {}
        self._logs: dict[str, int] = {}
        self._moved: set[str] = set()

    def lock(self) -> bool:
        """Lock the refs; False where one is not a plain file with its `old` value, or somebody has it locked.

        Then nothing has changed, and libgit2 can say what is the matter.
        """
        try:
            for move in self._moves:
                if not (move.old and move.new):
                    return False
                self._locks[move.ref] = os.open(f"{self._git_dir}/{move.ref}.lock", NEW, 0o666)
                if _read(f"{self._git_dir}/{move.ref}") != f"{move.old}\n".encode():
                    return False
                self._logs[move.ref] = os.open(f"{self._git_dir}/logs/{move.ref}", LOG)
            head = _read(f"{self._git_dir}/HEAD")
        except OSError:
            return False
        return head.rstrip().removeprefix(b"ref: ").decode("utf-8", "surrogateescape") not in self._locks

    def move(self, who: Person) -> None:
        """Move the locked refs, in order, and wait until they are on the disk.

        Raises OSError where the disk says no; if that is before the first renaming, nothing has moved.
        """
        for move in self._moves:
            _write(self._locks[move.ref], f"{move.new}\n".encode())
        for move in self._moves:
            line = f"{move.old} {move.new} {who.line()}\t{' '.join(move.reason.split())}\n"
            _append(self._logs[move.ref], line.encode("utf-8", "replace"))
            path = f"{self._git_dir}/{move.ref}"
            os.rename(f"{path}.lock", path)  # noqa: PTH104 - a Path takes as long as the call
            self._moved.add(move.ref)
        # a file that is synced after its renaming has its name on the disk as well
        flush(list(self._locks.values()))

    def release(self) -> None:
        """Unlock what has not moved, and close everything."""
        for ref, handle in self._locks.items():
            os.close(handle)
            if ref not in self._moved:
                with suppress(OSError):  # a later writer finds that nobody has it any more
                    os.unlink(f"{self._git_dir}/{ref}.lock")  # noqa: PTH108
        for handle in self._logs.values():
            os.close(handle)


def _append(log: int, line: bytes) -> None:
    size = os.fstat(log).st_size
    try:
        _write(log, line)
    except OSError:
        os.ftruncate(log, size)
        raise


def _write(handle: int, data: bytes) -> None:
    if os.write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
