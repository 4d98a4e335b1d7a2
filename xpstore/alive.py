"""Who is at work on a repository of this machine: a file for each, locked as long as its process lives.

    <git directory>/xpstore.alive/<token>

The token goes into what is received on behalf of such a process. So whoever finds work that was begun can
tell whether somebody still does it, whether its process has died here, or whether it belongs to another
clone. A file stays behind where a process dies; it goes when nothing that was begun under its token is left.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from xpstore.errors import RepositoryError
from xpstore.lock import unlock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER = "xpstore.alive"
State = Literal["alive", "dead", "elsewhere"]
"""Of a token: its process lives; it died here; it is of another clone, or was cleared away."""


class Presence:
    """This process, or one part of it, as others see it. It ends with the process at the latest."""

    def __init__(self, common_dir: Path) -> None:
        """Begin. Raises RepositoryError where the disk says no."""
        folder = common_dir / FOLDER
        try:
            folder.mkdir(exist_ok=True)
            self._handle = -1
            while self._handle < 0:  # else somebody took it for the file of a dead one, before it was locked
                self.token = os.urandom(10).hex()
                self._file = folder / self.token
                self._handle = _locked(self._file)
        except OSError as error:
            raise RepositoryError(
                f"cannot write below {folder}: {error.strerror or error}",
                hint="the git directory must be writable",
            ) from error

    def end(self, *, is_done: bool) -> None:
        """End; the file stays where not all is done, for the next one to see. Idempotent."""
        if self._handle < 0:
            return
        if is_done:
            self._file.unlink(missing_ok=True)
        unlock(self._handle)
        self._handle = -1


def state(common_dir: Path, token: str) -> State:
    """Return what became of whoever has a token."""
    if not token.isalnum():  # it comes from a file of the repository, and is to be a name here
        return "elsewhere"
    try:
        handle = os.open(common_dir / FOLDER / token, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return "elsewhere"
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "alive"
    finally:
        os.close(handle)
    return "dead"


def dead(common_dir: Path) -> frozenset[str]:
    """Return the tokens of those who died here."""
    try:
        names = sorted(os.listdir(common_dir / FOLDER))  # noqa: PTH208 - names, no paths
    except OSError:  # nobody was ever here
        return frozenset()
    return frozenset(name for name in names if state(common_dir, name) == "dead")


def clear(common_dir: Path, tokens: Iterable[str]) -> None:
    """Remove the files of these dead: nothing that was begun under their tokens is left.

    Who was found dead before the ledger was read has nothing to add to it; one who dies meanwhile might.
    """
    for token in tokens:
        file = common_dir / FOLDER / token
        with suppress(OSError):  # another one clears, or it is just being made
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.unlink()
            finally:
                os.close(handle)


def _locked(file: Path) -> int:
    """Make and lock a file; return its handle, -1 where it is gone again. Raises OSError."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if file.exists():
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return -1
