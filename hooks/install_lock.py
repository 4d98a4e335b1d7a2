"""One installation at a time in a folder of hooks: two would take each other's shims for somebody's hooks."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xpstore.lock import unlock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = ".xpstore-lock"


@contextmanager
def installing(where: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is there. It dies with its process, leaves no file. Raises OSError."""
    path = str(where / FILE)
    handle = _open(path)
    try:
        yield
    finally:
        os.unlink(path)  # noqa: PTH108  # while it is locked: whoever waited for it looks again
        unlock(handle)


def _open(path: str) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.path.exists(path) and os.path.samestat(os.fstat(handle), os.stat(path)):  # noqa: PTH110, PTH116
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its file has gone with whoever held it
