"""DropFolder: recordings that are put into a directory, each taken once it is whole.

A file is whole when nothing about it has changed for a while. It is told by its identity on the disk, its
size and its time: renamed it is the same, and what is appended later makes it new. What is in it is told by
content (rollout ids), so that copies and growing files teach nothing twice.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SETTLE = 2.0
"""Seconds for which a file must not have changed."""
SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".traj", ".eval"})
PACKED = ".gz"


@dataclass(frozen=True, slots=True)
class _Version:
    """A file as it is at one moment."""

    device: int
    inode: int
    size: int
    changed: int


class DropFolder:
    """The recordings below a directory: JSON files, but for hidden ones, links and what is below links.

    What is no file, such as a pipe, is left alone: nobody knows when it ends.
    """

    def __init__(
        self, root: Path, settle: float = SETTLE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`settle` in seconds of the clock. Raises UsageError where there is no such directory."""
        if not root.is_dir():
            raise UsageError(f"there is no directory {root}", hint="name one that recordings are put into")
        self.root = root
        self._settle = settle
        self._clock = clock
        self._waiting: dict[Path, tuple[_Version, float]] = {}
        self._taken: set[_Version] = set()

    def take(self) -> list[Path]:
        """Return the files that have become whole since the last look, sorted; each version once.

        Raises UsageError where the directory is gone.
        """
        if not self.root.is_dir():
            raise UsageError(f"the directory {self.root} is gone", hint="watch where it is now")
        now = self._clock()
        here = dict(self._files())
        self._taken.intersection_update(here.values())
        waiting: dict[Path, tuple[_Version, float]] = {}
        whole: list[Path] = []
        for path, version in sorted(here.items()):
            if version in self._taken:
                continue
            known, since = self._waiting.get(path, (version, now))
            since = since if known == version else now
            if path in self._waiting and known == version and now - since >= self._settle:
                self._taken.add(version)
                whole.append(path)
            else:
                waiting[path] = (version, since)
        self._waiting = waiting
        return whole

    @property
    def is_waiting(self) -> bool:
        """Whether there are files that may become whole."""
        return bool(self._waiting)

    def _files(self) -> Iterator[tuple[Path, _Version]]:
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = Path(folder, name)
                suffix = Path(name.lower().removesuffix(PACKED)).suffix
                if name.startswith(".") or suffix not in SUFFIXES:
                    continue
                try:
                    found = path.lstat()
                except OSError:  # it was there a moment ago
                    continue
                if stat.S_ISREG(found.st_mode):
                    yield path, _Version(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
