"""Loose objects and refs as a loss of power leaves them: empty, cut off, full of NULs.

libgit2 reads a loose object that is cut off for ever. So one that is about to be read is looked at first;
those that a running program writes after the look at their folder are whole.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNK = 1 << 20
_VALUE = re.compile(rb"\A([0-9a-f]{40})\n\Z")


class LooseObjects:
    """The loose objects of a repository, each looked at once, when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: set[str] | None = None
        self._unchecked: dict[str, set[str]] = {}

    def problem(self, object_id: str) -> str:
        """Return what is wrong with the file of an object; "" where it is whole, or where there is none."""
        shard, name = object_id[:2], object_id[2:]
        names = self._unchecked.get(shard)
        if names is None:
            names = self._unchecked[shard] = self._names(shard)
        if name not in names:
            return ""
        problem = _problem(self._folder / shard / name)
        if not problem:
            names.discard(name)
        return problem

    def _names(self, shard: str) -> set[str]:
        if self._shards is None:
            self._shards = _names(self._folder)
        return _names(self._folder / shard) if shard in self._shards else set()


def ref_files(git_dir: Path, prefix: str) -> Iterator[str]:
    """Yield the names that the files of loose refs have, whatever is in them, below a prefix."""
    top = prefix.rpartition("/")[0]
    for folder, _, files in os.walk(git_dir / top):
        for file in files:
            name = f"{top}{folder.removeprefix(str(git_dir / top))}/{file}"
            if name.startswith(prefix):
                yield name


def branch_value(git_dir: Path, name: str) -> str | None:
    """Return the commit id of a branch that libgit2 has not found; "" where there is none, None: it was lost.

    Asked of the files themselves: git may be packing refs, or deleting the branch, at this moment. A branch
    that has no value twice, and entries in its reflog all the time, was not deleted by git.
    """
    line = re.compile(rb"^([0-9a-f]{40}) %s$" % re.escape(os.fsencode(name)), re.MULTILINE)
    for _ in range(2):
        if not name.startswith("refs/heads/") or not has_log(git_dir, name):
            return ""
        for file, pattern in ((git_dir / name, _VALUE), (git_dir / "packed-refs", line)):
            with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                if found := pattern.search(file.read_bytes()):
                    return found[1].decode()
    return None


def has_log(git_dir: Path, name: str) -> bool:
    """Return whether a ref has entries in its reflog: git deletes the log of a ref that is deleted."""
    log = git_dir / "logs" / name
    return log.is_file() and log.stat().st_size > 0


def _names(folder: Path) -> set[str]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def _problem(file: Path) -> str:
    inflater = zlib.decompressobj()
    try:
        with file.open("rb") as stream:
            size = 0
            while data := inflater.unconsumed_tail or stream.read(CHUNK):
                size += len(data)
                inflater.decompress(data, CHUNK)
    except FileNotFoundError:  # packed meanwhile
        return ""
    except zlib.error:
        return f"{file} is no git object"
    if not size:
        return f"{file} is empty"
    return "" if inflater.eof else f"{file} is cut off"
