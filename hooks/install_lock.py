"""One installation at a time in a folder of hooks: two would take each other's shims for somebody's hooks."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = ".xpstore-lock"


@contextmanager
def installing(where: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is there. It dies with its process, leaves no file. Raises OSError.

    It is not the store lock: several repositories may run the hooks of one folder.
    """
    path = where / FILE
    while True:
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(path, file):
                continue  # it has gone with whoever held it
            try:
                yield
            finally:
                path.unlink(missing_ok=True)  # while it is locked: whoever waited for it looks again
            return


def _is_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
