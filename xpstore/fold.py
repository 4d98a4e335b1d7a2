"""Put many small packs together into one, without a process and without looking into an object.

The packs of plans have no deltas, so their entries can be copied as they are; it takes a few milliseconds
where git takes a hundred. Deltas, which save most of the room, are left to git and to more packs at a time.
"""

from __future__ import annotations

import hashlib
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SMALL = 1 << 20
"""Bytes of the largest pack that is folded here: larger ones would be copied again and again."""
FILES = frozenset({".pack", ".idx"})
"""The files that a pack of this program has; others would mean something to git."""
WHOLE = frozenset(pack.CODES.values())


@dataclass(frozen=True, slots=True)
class PackFile:
    """A pack that may be folded: nobody keeps it."""

    stem: str
    """Its path without the ending."""
    size: int
    """Bytes."""
    is_own: bool
    """Whether this program wrote it, and nobody has put a file beside it."""

    @property
    def name(self) -> str:
        """Its file's name, as git's options want it."""
        return f"{self.stem.rpartition('/')[2]}.pack"

    @property
    def is_small(self) -> bool:
        """Whether it is to be folded here."""
        return self.is_own and self.size <= SMALL


def packs(folder: Path) -> list[PackFile]:
    """Return the packs that nobody keeps, smallest first."""
    endings: dict[str, set[str]] = {}
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - names are enough
            stem, dot, ending = name.partition(".")
            if stem.startswith("pack-"):
                endings.setdefault(stem, set()).add(dot + ending)
    except FileNotFoundError:
        return []
    found = []
    for stem, there in endings.items():
        if there >= FILES and ".keep" not in there:
            with suppress(FileNotFoundError):  # another process has just folded it
                size = os.stat(f"{folder}/{stem}.pack").st_size  # noqa: PTH116 - a Path takes as long
                own = there == FILES and stem.startswith(pack.MARK)
                found.append(PackFile(f"{folder}/{stem}", size, own))
    return sorted(found, key=lambda p: p.size)


def fold(folder: Path, sources: Sequence[PackFile]) -> int:
    """Replace those of the packs that are whole and have no deltas by one; return how many those were.

    Only one process may do it at a time. Readers find every object at any moment: the new pack is there, and
    on the disk, before the old ones go. Raises RepositoryError where the disk says no; then all is as before.
    """
    parts: list[bytes] = []
    places: dict[bytes, tuple[int, int]] = {}
    folded: list[PackFile] = []
    size = pack.HEAD
    for source in sources:
        entries = list(_entries(source))
        folded += [source] if entries else []
        for name, crc, entry in entries:
            if name not in places:
                places[name] = (size, crc)
                parts.append(entry)
                size += len(entry)
    if len(folded) < 2:
        return 0
    pack.write(folder, pack.new_stem(folder), *pack.assemble(parts, places))
    for source in folded:
        for ending in (".idx", ".pack"):
            with suppress(OSError):  # what is left is folded next time
                os.unlink(source.stem + ending)  # noqa: PTH108
    return len(folded)


def _entries(source: PackFile) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield name, checksum and bytes of every entry; nothing where the pack is not one to copy from."""
    try:
        data, index = _bytes(f"{source.stem}.pack"), _bytes(f"{source.stem}.idx")
    except FileNotFoundError:
        return
    if index[:8] != pack.INDEX or data[:8] != pack.PACK or not (_is_whole(data) and _is_whole(index)):
        return
    (count,) = struct.unpack_from(">I", data, 8)
    if len(index) != len(pack.INDEX) + 1024 + 28 * count + 40 or index[-40:-20] != data[-20:]:
        return  # another number of objects, an index of another pack, or offsets beyond 2 GB
    start = len(pack.INDEX) + 1024
    crcs = struct.unpack_from(f">{count}I", index, start + 20 * count)
    offsets = struct.unpack_from(f">{count}I", index, start + 24 * count)
    starts = sorted(offsets)
    ends = dict(zip(starts, [*starts[1:], len(data) - 20], strict=True))
    if any(data[at] >> 4 & 7 not in WHOLE for at in offsets):
        return
    for number, at in enumerate(offsets):
        place = start + 20 * number
        yield index[place : place + 20], crcs[number], data[at : ends[at]]


def _is_whole(data: bytes) -> bool:
    return hashlib.sha1(memoryview(data)[:-20], usedforsecurity=False).digest() == data[-20:]


def _bytes(file: str) -> bytes:
    with open(file, "rb") as stream:  # noqa: PTH123
        return stream.read()
