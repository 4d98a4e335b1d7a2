"""What can still be read of a damaged pack, entry by entry: git gives up the whole pack for one byte.

The entries are where the pack's index says. Without an index that is whole they are looked for, one after the
other, and after damage from the next byte on that begins one. What is read is what its id says, or lost.
Format: gitformat-pack.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
OFFSET_DELTA, NAMED_DELTA = 6, 7
FAN = 1032
"""Bytes of an index before its list of ids."""
CHUNK = 1 << 14
FAR = 1 << 31
"""Offsets from here on are in a list of their own."""


@dataclass(frozen=True, slots=True)
class Item:
    """One object, of any kind that git has."""

    kind: str
    data: bytes

    @property
    def id(self) -> str:
        """Its id."""
        return hashlib.sha1(b"%s %d\0%s" % (self.kind.encode(), len(self.data), self.data)).hexdigest()  # noqa: S324


@dataclass(frozen=True, slots=True)
class Found:
    """What a pack has."""

    objects: Mapping[str, Item]
    """By id."""
    lost: Mapping[str, str]
    """Id → kind of what the index names and cannot be read; kind "object" where that cannot be told."""


@dataclass(frozen=True, slots=True)
class _Head:
    code: int
    size: int
    base: int | str
    """Where the entry is, or the id of the object, that a delta is against; 0 where it is none."""
    at: int
    """Where its zlib stream begins."""


def read(data: bytes, index: bytes) -> Found:
    """Read all that can be read of a pack; `index`: the bytes of its index, whatever is left of them."""
    places = parse_index(index)
    ids = {at: name for name, at in places.items()}
    bodies = dict(_listed(data, sorted(ids)) if ids else _searched(data))
    made: dict[int, tuple[str, Item]] = {}
    waiting = sorted(bodies)  # what a delta is against comes before it; but for what is named by its id
    while waiting:
        left: list[int] = []
        for at in waiting:
            head, body = bodies[at]
            base = made.get(places.get(head.base, 0) if isinstance(head.base, str) else head.base)
            item = _item(head, body, base[1] if base else None)
            if item is None:
                left.append(at)
            elif (name := item.id) == ids.get(at, name):
                made[at] = (name, item)
                places.setdefault(name, at)
        if len(left) == len(waiting):
            break
        waiting = left
    lost = {name: _kind(data, places, at) for at, name in ids.items() if at not in made}
    return Found(dict(made[at] for at in sorted(made)), lost)


def encode(items: Mapping[str, Item]) -> tuple[bytes, bytes]:
    """Return a pack without deltas and its index. Raises RepositoryError where that is too much for one."""
    codes = {kind: code for code, kind in KINDS.items()}
    entries: list[bytes] = []
    places: dict[bytes, tuple[int, int]] = {}
    at = pack.HEAD
    for name, item in items.items():
        size = len(item.data)
        head = [codes[item.kind] << 4 | size & 15]
        size >>= 4
        while size:
            head[-1] |= 128
            head.append(size & 127)
            size >>= 7
        entries.append(bytes(head) + zlib.compress(item.data, 1))
        places[bytes.fromhex(name)] = (at, zlib.crc32(entries[-1]))
        at += len(entries[-1])
    return pack.assemble(entries, places)


def parse_index(data: bytes) -> dict[str, int]:
    """Return where the index of a pack (version 2) says that each object is; {} where it is not whole."""
    if not data.startswith(pack.INDEX):
        return {}
    if hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]:
        return {}
    try:
        (count,) = struct.unpack_from(">I", data, FAN - 4)
        near = struct.unpack_from(f">{count}I", data, FAN + 24 * count)
        far = FAN + 28 * count
        places = [at if at < FAR else struct.unpack_from(">Q", data, far + 8 * (at - FAR))[0] for at in near]
    except struct.error:  # its checksum is right, and it still is no index
        return {}
    return {data[FAN + 20 * n : FAN + 20 * n + 20].hex(): at for n, at in enumerate(places)}


def _listed(data: bytes, places: list[int]) -> Iterator[tuple[int, tuple[_Head, bytes]]]:
    for at in places:
        head = _head(data, at)
        body = _inflated(data, head) if head else None
        if head and body:
            yield at, (head, body[0])


def _searched(data: bytes) -> Iterator[tuple[int, tuple[_Head, bytes]]]:
    at = pack.HEAD
    while at < len(data):
        head = _head(data, at)
        body = _inflated(data, head) if head else None
        if head and body:
            yield at, (head, body[0])
            at = body[1]
        else:
            at += 1


def _head(data: bytes, start: int) -> _Head | None:
    """Return what is before the zlib stream of an entry; None where that is garbage or cut off."""
    at = start
    try:
        byte = data[at]
        code, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 128:
            at += 1
            byte = data[at]
            size |= (byte & 127) << shift
            shift += 7
        at += 1
        if code in KINDS:
            return _Head(code, size, 0, at)
        if code == NAMED_DELTA:
            return _Head(code, size, data[at : at + 20].hex(), at + 20)
        if code != OFFSET_DELTA:
            return None
        byte = data[at]
        back = byte & 127
        while byte & 128:
            at += 1
            byte = data[at]
            back = (back + 1) << 7 | byte & 127
    except IndexError:
        return None
    return _Head(code, size, start - back, at + 1) if pack.HEAD <= start - back < start else None


def _inflated(data: bytes, head: _Head) -> tuple[bytes, int] | None:
    """Return the content of an entry and where it ends; None where it is damaged."""
    inflater, found, at = zlib.decompressobj(), bytearray(), head.at
    try:
        while not inflater.eof and at < len(data) and len(found) <= head.size:
            found += inflater.decompress(data[at : at + CHUNK])
            at += CHUNK
    except zlib.error:
        return None
    if not inflater.eof or len(found) != head.size:
        return None
    return bytes(found), min(at, len(data)) - len(inflater.unused_data)


def _item(head: _Head, body: bytes, base: Item | None) -> Item | None:
    if head.code in KINDS:
        return Item(KINDS[head.code], body)
    data = _patched(base.data, body) if base else None
    return Item(base.kind, data) if base and data is not None else None


def _patched(base: bytes, delta: bytes) -> bytes | None:
    """Apply a delta; None where it is not one against this base."""
    try:
        before, at = _number(delta, 0)
        after, at = _number(delta, at)
        made = bytearray()
        while at < len(delta):
            code = delta[at]
            at += 1
            if not code & 128:
                made += delta[at : at + code]
                at += code
                continue
            numbers = [0] * 7
            for bit in range(7):
                if code >> bit & 1:
                    numbers[bit] = delta[at]
                    at += 1
            begin = int.from_bytes(bytes(numbers[:4]), "little")
            length = int.from_bytes(bytes(numbers[4:]), "little") or 0x10000
            made += base[begin : begin + length]
    except IndexError:
        return None
    return bytes(made) if (before, after) == (len(base), len(made)) else None


def _number(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while delta[at] & 128:
        value |= (delta[at] & 127) << shift
        shift += 7
        at += 1
    return value | delta[at] << shift, at + 1


def _kind(data: bytes, places: Mapping[str, int], at: int) -> str:
    """Return of what kind an entry is: a delta is of the kind of what it is against."""
    seen: set[int] = set()
    while at not in seen:
        seen.add(at)
        head = _head(data, at)
        if head is None:
            break
        if head.code in KINDS:
            return KINDS[head.code]
        at = places.get(head.base, at) if isinstance(head.base, str) else head.base
    return "object"
