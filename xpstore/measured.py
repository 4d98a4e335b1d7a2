"""Which evaluations were measured by this repository itself: a small file beside the refs, one name a line.

Whoever can push evidence can write an evaluation. What is signed, or held on a server, stands for figures
that this machine has seen itself, so there only these are used again. No push, fetch or clone moves the file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

SETTING = "xp.ownFigures"
"""The setting of git by which a gate uses no figures that were measured elsewhere."""


def note(loc: Location, path: str) -> None:
    """Note that the evaluation at a path of the evidence branch was measured here.

    A git directory that cannot be written is left as it is: then it is measured again.
    """
    name = _name(path)
    with suppress(OSError):
        if name in names(loc):
            return
        # one short write at the end of a file: several processes cannot mix theirs
        handle = os.open(_file(loc), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(handle, f"{name}\n".encode())
        finally:
            os.close(handle)


def names(loc: Location) -> set[str]:
    """Return the file names, without suffix, of the evaluations that were measured here."""
    try:
        text = _file(loc).read_text("utf-8", "replace")
    except FileNotFoundError:
        return set()
    return set(text.splitlines())


def is_own(loc: Location, path: str) -> bool:
    """Return whether the evaluation at a path of the evidence branch was measured here."""
    return _name(path) in names(loc)


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json")


def _file(loc: Location) -> Path:
    return loc.repo.common_dir / f"xpstore.measured-{loc.config.id}"
