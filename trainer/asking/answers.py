"""The store's own answers: what was asked once is not paid for twice, and has one answer.

A run that failed half-way and is repeated asks only for the rest, and comes to the same gradients. The folder
lies in the git directory, is never cloned or pushed, holds no questions, and is deleted by `xp forget`: a
lesson may quote what is to be forgotten. Nobody else may read it, and an answer with a secret or personal
data is not kept there at all: masked, it would be another answer. A file that is damaged is the same as none.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from trainer.asking.files import put
from xpstore.redact import Redactor

if TYPE_CHECKING:
    from pathlib import Path

MOST_FILES = 20_000
MOST_BYTES = 64 << 20
CLEARED_EVERY = 256
"""Answers that are written before the size of the folder is looked at."""


class Answers:
    """Accepted answers by the digest of their questions. Where nothing can be written, nothing is kept."""

    def __init__(self, folder: Path | None, *, again: bool = False) -> None:
        self._folder = folder
        self._again = again
        self._fresh: dict[str, str] = {}
        self._until_clear = 0

    def find(self, digest: str) -> str | None:
        """Return the text of the answer; with `again`, only one that this process has kept."""
        if digest in self._fresh or self._again or self._folder is None:
            return self._fresh.get(digest)
        file = self._folder / digest
        try:
            text = file.read_text("utf-8")
        except (OSError, ValueError):
            return None
        with suppress(OSError):
            os.utime(file)  # the ones that nobody has asked for are the first to go
        return text

    def keep(self, digest: str, text: str) -> None:
        """Keep an answer for this process; for later ones too, where it may be, whole or not at all."""
        self._fresh[digest] = text
        if self._folder is None or Redactor().redact_text(text) != text:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            put(self._folder / digest, text, mode=0o600)
        except OSError:
            return
        self._until_clear -= 1
        if self._until_clear < 0:
            self._until_clear = CLEARED_EVERY
            _clear(self._folder)


def _clear(folder: Path) -> None:
    """Delete the answers that were not asked for the longest, until the rest is within bounds."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                stat = entry.stat()
                found.append((stat.st_mtime_ns, stat.st_size, entry.path))
    size = 0
    for number, (_, length, path) in enumerate(sorted(found, reverse=True)):
        size += length
        if number >= MOST_FILES or size > MOST_BYTES:
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108  # as scandir gave it
