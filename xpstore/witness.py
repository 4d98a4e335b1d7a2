"""What this clone last saw of the evidence branch: a small file beside the refs, so that a rewrite shows.

It depends on no reflog and keeps no object alive. It may lag behind: a branch that only grows still has the
older tip. `xp forget` rewrites the branch on purpose and records that as a higher generation.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xpstore.errors import RefusedError

if TYPE_CHECKING:
    from xpstore.location import Location

_LINE = re.compile(rb"([0-9a-f]{40}) (\d{1,18})\n")
_NUMBER = re.compile(rb"[1-9][0-9]{0,17}\n")
GENERATION = "generation"
"""The file of the evidence branch that counts how often something was forgotten."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A tip of the evidence branch."""

    tip: str
    generation: int


def generation(loc: Location, tip: str) -> int:
    """Return how often something was forgotten before this tip of the evidence branch; 0 for nonsense."""
    return _number(loc, tip) or 0


def is_nonsense(loc: Location, tip: str) -> bool:
    """Return whether the file that counts holds what no `xp forget` writes."""
    return _number(loc, tip) is None


def following(loc: Location, *tips: str) -> bytes:
    """Return what the file that counts says in a branch that follows on these and forgets something.

    Raises RefusedError where no number that can be read follows: somebody has put it there.
    """
    data = f"{max(generation(loc, tip) for tip in tips) + 1}\n".encode()
    if not _NUMBER.fullmatch(data):
        raise RefusedError(
            f"the evidence says that something was forgotten {data.decode().strip()} times",
            hint="somebody wrote that by hand: git log xp/evidence -- generation; go back to before it",
        )
    return data


def _number(loc: Location, tip: str) -> int | None:
    entry = loc.repo.entry(loc.repo.commit(tip).tree, GENERATION)
    if entry is None:
        return 0
    data = loc.repo.blob(entry.id) if entry.is_file else b""
    return int(data) if _NUMBER.fullmatch(data) else None


def recall(loc: Location) -> Seen | None:
    """Return what was remembered last; None in a fresh clone."""
    try:
        return _parsed(Path(_file(loc)).read_bytes())
    except OSError:  # none yet, or unreadable: as in a fresh clone
        return None


def _parsed(data: bytes) -> Seen | None:
    match = _LINE.match(data)
    return Seen(match[1].decode(), int(match[2])) if match else None  # a loss of power may have emptied it


def remember(loc: Location, tip: str) -> None:
    """Remember a tip that continues what was seen, or starts a higher generation; ignore any other.

    A git directory that cannot be written is left as it is: nothing is lost by it.
    """
    with suppress(OSError):
        # in place: a rename over the old file makes some file systems write it out, which takes
        # longer than all the rest of a plan, and a line this short is never seen by halves
        handle = os.open(_file(loc), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            old = os.pread(handle, 1024, 0)
            seen = _parsed(old)
            if seen is None or (seen.tip != tip and continues(loc, seen, tip)):
                new = f"{tip} {generation(loc, tip)}\n".encode()
                os.pwrite(handle, new, 0)
                if len(old) > len(new):
                    os.ftruncate(handle, len(new))
        finally:
            os.close(handle)


def continues(loc: Location, seen: Seen, tip: str) -> bool:
    """Return whether a tip has the seen one in its history, or records that something was forgotten since."""
    is_child = seen.tip in loc.repo.commit(tip).parents  # mostly; saves the walk
    return is_child or loc.repo.is_ancestor(seen.tip, tip) or generation(loc, tip) > seen.generation


def _file(loc: Location) -> str:
    return f"{loc.repo.common_dir}/xpstore.seen-{loc.config.id}"
