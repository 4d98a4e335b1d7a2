"""One small durable pack for a group of new objects, safe from a concurrent `git gc --prune=now`.

A `.keep` file lies beside the pack until the refs point at its objects: gc leaves such packs alone. The
name is random for every attempt. With a name made from the content, an attempt that lost its race drops
its `.keep`, gc lists the pack for removal, the retry writes the same pack again and moves the ref to it,
and gc then deletes it. Objects are written even where the repository has them already: a loose,
unreachable copy can be pruned at any moment.

A pack that no ref came to need stays behind for gc. Deleting it here would be wrong: a `git add` of the
same bytes may have found the object in it and written none of its own.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from xpstore.durable import sync
from xpstore.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from xpstore.objects import GitObject

CODES = {"commit": 1, "tree": 2, "blob": 3}
LIMIT = 2**31  # bytes; longer packs need an index with 64-bit offsets
DRAFT = ".part"
KEEP_NOTE = "xpstore: until the ref has moved\n"


@contextmanager
def kept(folder: Path, objects: Sequence[GitObject]) -> Iterator[None]:
    """Write the objects as one pack into `folder` and keep gc off it while the block runs.

    Raises RepositoryError where the disk says no; then nothing of the pack is left.
    """
    if not objects:
        yield
        return
    keep = folder / f"pack-{os.urandom(20).hex()}.keep"
    try:
        _write(keep, objects)
        yield
    finally:
        _remove(keep)


def _remove(file: Path) -> None:
    with suppress(OSError):  # the disk may say no here too; what stays is swept later
        file.unlink(missing_ok=True)


def sweep(folder: Path, older_than: float) -> int:
    """Remove the `.keep` files and drafts that killed writers left behind; return how many there were.

    `older_than` is in seconds; a writer needs them for well under a minute.
    """
    now = time.time()
    swept = 0
    for path in (*folder.glob("pack-*.keep"), *folder.glob(f"pack-*{DRAFT}")):
        try:
            old = now - path.stat().st_mtime > older_than
            ours = path.suffix == DRAFT or path.read_text() == KEEP_NOTE
        except FileNotFoundError:
            continue  # its writer has finished meanwhile
        if old and ours:
            path.unlink(missing_ok=True)
            swept += 1
    return swept


def _write(keep: Path, objects: Sequence[GitObject]) -> None:
    pack, index = encode(objects)
    try:
        _note(keep)
        files = [keep.with_suffix(".pack"), keep.with_suffix(".idx")]
        drafts = [file.with_name(f"{file.name}{DRAFT}") for file in files]  # not tmp_*: git prune takes those
        try:
            for draft, data in zip(drafts, (pack, index), strict=True):
                _create(draft, data, 0o444)
            sync(drafts)
            for draft, file in zip(drafts, files, strict=True):
                draft.rename(file)  # the index last: git finds a pack by it
        finally:
            for draft in drafts:
                _remove(draft)
        sync([keep.parent])
    except OSError as error:
        for suffix in (".idx", ".pack"):
            _remove(keep.with_suffix(suffix))
        raise RepositoryError(
            f"cannot write a pack in {keep.parent}: {error.strerror or error}",
            hint="check free space and permissions; nothing was changed",
        ) from error


def _note(keep: Path) -> None:
    try:
        _create(keep, KEEP_NOTE.encode(), 0o644)
    except FileNotFoundError:
        keep.parent.mkdir(parents=True, exist_ok=True)
        _create(keep, KEEP_NOTE.encode(), 0o644)


def _create(path: Path, data: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
        out.write(data)


def encode(objects: Sequence[GitObject]) -> tuple[bytes, bytes]:
    """Return pack (version 2, no deltas) and index (version 2) of the objects, each object once."""
    unique = {o.id: o for o in objects}
    out = bytearray(b"PACK" + struct.pack(">II", 2, len(unique)))
    places: dict[str, tuple[int, int]] = {}
    for item in unique.values():
        start = len(out)
        out += _header(CODES[item.kind], len(item.data)) + zlib.compress(item.data, 1)
        places[item.id] = (start, zlib.crc32(out[start:]))
    if len(out) >= LIMIT:
        raise RepositoryError(f"{len(out)} bytes are too many for one pack", hint="write smaller groups")
    checksum = hashlib.sha1(out, usedforsecurity=False).digest()
    return bytes(out) + checksum, _index(places, checksum)


def _header(code: int, size: int) -> bytes:
    first, size = code << 4 | size & 15, size >> 4
    out = bytearray()
    while size:
        out.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    out.append(first)
    return bytes(out)


def _index(places: dict[str, tuple[int, int]], checksum: bytes) -> bytes:
    ids = sorted(places)
    counts = [0] * 256
    for oid in ids:
        counts[int(oid[:2], 16)] += 1
    fanout, total = [], 0
    for count in counts:
        total += count
        fanout.append(total)
    out = b"\377tOc" + struct.pack(">I256I", 2, *fanout)
    out += b"".join(bytes.fromhex(oid) for oid in ids)
    out += struct.pack(f">{total}I", *(places[oid][1] for oid in ids))
    out += struct.pack(f">{total}I", *(places[oid][0] for oid in ids)) + checksum
    return out + hashlib.sha1(out, usedforsecurity=False).digest()
