"""Merge for people who run `git merge`: the same merge by statement, and markers where there is any doubt.

Pure. Git takes whatever a driver leaves when it says that all is well, so "well" is said only where nothing
overlaps; what both sides changed differently is marked for the person who is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from xpstore.conflict import lines_of, question, trimmed
from xpstore.merge import merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.conflict import Conflict, Hunk

MARKER_SIZE = 7


@dataclass(frozen=True, slots=True)
class Driven:
    """What to leave in place of ours, and whether git may take it."""

    data: bytes
    is_clean: bool


def drive(base: bytes, ours: bytes, theirs: bytes, size: int = MARKER_SIZE, where: str = "") -> Driven:
    """Merge three versions of a page; an empty base is none. Any bytes will do: what is no page is marked."""
    try:
        texts = [data.decode() for data in (base, ours, theirs)]
    except UnicodeDecodeError:
        return Driven(_whole(ours, theirs, size), is_clean=False)
    result = merge(texts[0] or None, texts[1], texts[2], where)
    if result.verdict == "PROVEN" and not result.overlaps:
        return Driven((result.text or "").encode(), is_clean=True)
    conflict = question(texts[0] or None, texts[1], texts[2], result, where)
    if conflict is None:
        return Driven(_whole(ours, theirs, size), is_clean=False)
    return Driven(_marked(conflict, size).encode(), is_clean=False)


def both(ours: str | None, theirs: str | None) -> str:
    """Return both versions of a page between markers, as where one side deleted it: None = no page."""
    marked = _whole((ours or "").encode(), (theirs or "").encode(), MARKER_SIZE).decode()
    for text, head in ((ours, f"{'<' * MARKER_SIZE} ours"), (theirs, f"{'>' * MARKER_SIZE} theirs")):
        if text is None:
            marked = marked.replace(f"{head}\n", f"{head} deleted this page\n")
    return marked


def _marked(conflict: Conflict, size: int) -> str:
    """Return the file around the hunks, and each hunk with all three versions between markers."""
    first, *rest = conflict.frame
    lines = [*first]
    for place, piece in zip(conflict.order, rest, strict=True):
        if lines and lines[-1].startswith("#"):
            lines.append("")
        lines += [*_block(conflict.hunks[place], size), *piece]
    newline = conflict.documents["ours"].newline
    return newline.join(lines) + newline


def _block(hunk: Hunk, size: int) -> list[str]:
    texts = {
        side: trimmed(lines_of("\n".join(s.text for s in hunk.of(side))))
        for side in ("base", "ours", "theirs")
    }
    return [
        f"{'<' * size} ours",
        *texts["ours"],
        f"{'|' * size} base",
        *texts["base"],
        "=" * size,
        *texts["theirs"],
        f"{'>' * size} theirs",
    ]


def _whole(ours: bytes, theirs: bytes, size: int) -> bytes:
    """Return both files, what differs between markers, by lines: neither need be text."""
    mine, yours = ours.splitlines(keepends=True), theirs.splitlines(keepends=True)
    head = _shared(mine, yours)
    mine, yours = mine[head:], yours[head:]
    tail = _shared(mine[::-1], yours[::-1])
    newline = b"\r\n" if b"\r\n" in ours else b"\n"
    middle = [
        b"<" * size + b" ours" + newline,
        *_ended(mine[: len(mine) - tail], newline),
        b"=" * size + newline,
        *_ended(yours[: len(yours) - tail], newline),
        b">" * size + b" theirs" + newline,
    ]
    start = ours.splitlines(keepends=True)[:head]
    return b"".join([*_ended(start, newline), *middle, *mine[len(mine) - tail :]])


def _shared(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _ended(lines: Sequence[bytes], newline: bytes) -> list[bytes]:
    return [line if line.endswith((b"\n", b"\r")) else line + newline for line in lines]
