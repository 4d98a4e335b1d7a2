"""Wait for the disk."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HINTS = hasattr(os, "posix_fadvise")


def sync(paths: Sequence[str]) -> None:
    """Wait until these files and folders are on the disk; one that is gone is no error.

    Raises OSError where the disk says no.
    """
    with ExitStack() as stack:
        handles = []
        for path in paths:
            with suppress(FileNotFoundError):
                handles.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                stack.callback(os.close, handles[-1])
        flush(handles)


def flush(handles: Sequence[int]) -> None:
    """Wait until what was written to these open files is on the disk. Raises OSError where it says no.

    Waiting for one after the other takes little longer than for one: a file system with a journal writes it
    once for all that has its place on the disk by then. (Threads that wait side by side take longer.)
    """
    if len(handles) > 1 and HINTS:
        for handle in handles:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)  # start writing: that gives each its place
    for handle in handles:
        os.fsync(handle)
