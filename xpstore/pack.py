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
from itertools import accumulate
from typing import TYPE_CHECKING

from xpstore.durable import flush, sync
from xpstore.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from xpstore.objects import GitObject

PACK = b"PACK\0\0\0\2"
INDEX = b"\377tOc\0\0\0\2"
HEAD = 12
"""Bytes before the first entry of a pack."""
CODES = {"commit": 1, "tree": 2, "blob": 3}
LIMIT = 2**31  # bytes; longer packs need an index with 64-bit offsets
MARK = "pack-f01d0000"
"""How the names of this program's packs start: they have no deltas yet."""
DRAFT = ".part"
STORED = 1 << 13
"""Bytes up to which a tree is put into its zlib stream as it is: ids do not get shorter by deflating, which
takes longer than all the rest of writing them. Larger ones are one folder of many similar names."""
TINY = 100
"""The same for anything else."""
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
KEEP_NOTE = "xpstore: until the ref has moved\n"


@contextmanager
def kept(folder: Path, objects: Sequence[GitObject]) -> Iterator[None]:
    """Write the objects as one pack into `folder` and keep gc off it while the block runs.

    Raises RepositoryError where the disk says no; then nothing of the pack is left.
    """
    if not objects:
        yield
        return
    stem = new_stem(folder)
    data = encode(objects)
    try:
        _keep(folder, f"{stem}.keep")
        write(folder, stem, *data)
        yield
    finally:
        _remove(f"{stem}.keep")


def new_stem(folder: Path) -> str:
    """Return the path of a new pack without its ending; random but for the mark, see above."""
    return f"{folder}/{MARK}{os.urandom(16).hex()}"


def _remove(file: str) -> None:
    try:
        _unlink(file)
    except KeyboardInterrupt:  # pressed while this is cleaned up: finish, then stop
        _unlink(file)
        raise


def _unlink(file: str) -> None:
    with suppress(OSError):  # gone already, or the disk says no here too: what stays is swept later
        os.unlink(file)  # noqa: PTH108 - here and below: paths as text, Path takes as long as the call


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


def write(folder: Path, stem: str, pack: bytes, index: bytes) -> None:
    """Write a pack and its index so that readers see them whole and on the disk.

    Raises RepositoryError where the disk says no; then nothing is left of them.
    """
    drafts = {f"{stem}{end}{DRAFT}": data for end, data in ((".pack", pack), (".idx", index))}
    try:
        try:
            _create(drafts)  # not tmp_*: git prune takes those
            for draft in drafts:
                # the index last: git finds a pack by it
                os.rename(draft, draft.removesuffix(DRAFT))  # noqa: PTH104
            sync([str(folder)])
        except BaseException:
            for draft in drafts:
                _remove(draft)
            raise
    except OSError as error:
        for end in (".idx", ".pack"):
            _remove(f"{stem}{end}")
        raise _failed(folder, error) from error


def _keep(folder: Path, file: str) -> None:
    try:
        try:
            handle = os.open(file, CREATE, 0o644)
        except FileNotFoundError:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(file, CREATE, 0o644)
        try:
            os.write(handle, KEEP_NOTE.encode())
        finally:
            os.close(handle)
    except OSError as error:
        raise _failed(folder, error) from error


def _failed(folder: Path, error: OSError) -> RepositoryError:
    return RepositoryError(
        f"cannot write a pack in {folder}: {error.strerror or error}",
        hint="check free space and permissions; nothing was changed",
    )


def _create(files: Mapping[str, bytes]) -> None:
    """Make new files, each all on the disk."""
    handles: list[int] = []
    try:
        for file, data in files.items():
            handles.append(os.open(file, CREATE, 0o444))
            written = os.write(handles[-1], data)
            while written < len(data):
                written += os.write(handles[-1], memoryview(data)[written:])
        flush(handles)
    finally:
        for handle in handles:
            os.close(handle)


def encode(objects: Sequence[GitObject]) -> tuple[bytes, bytes]:
    """Return pack (version 2, no deltas) and index (version 2) of the objects, each object once."""
    parts: list[bytes] = []
    places: dict[bytes, tuple[int, int]] = {}
    size = HEAD
    for item in objects:
        name = bytes.fromhex(item.id)
        if name not in places:
            entry = _header(CODES[item.kind], len(item.data)) + deflated(item.data, item.kind)
            places[name] = (size, zlib.crc32(entry))
            parts.append(entry)
            size += len(entry)
    return assemble(parts, places)


def assemble(entries: Sequence[bytes], places: Mapping[bytes, tuple[int, int]]) -> tuple[bytes, bytes]:
    """Return pack and index of these entries; `places`: object → where its entry is, and its CRC-32."""
    data = b"".join([PACK, struct.pack(">I", len(entries)), *entries])
    if len(data) >= LIMIT:
        raise RepositoryError(f"{len(data)} bytes are too many for one pack", hint="write smaller groups")
    checksum = hashlib.sha1(data, usedforsecurity=False).digest()
    return data + checksum, _index(places, checksum)


def deflated(data: bytes, kind: str) -> bytes:
    """Return a zlib stream of an object of this kind; see STORED."""
    if len(data) > STORED or (kind != "tree" and len(data) > TINY):
        return zlib.compress(data, 1)
    head = struct.pack("<2sBHH", b"\x78\x01", 1, len(data), len(data) ^ 0xFFFF)
    return head + data + struct.pack(">I", zlib.adler32(data))


def _header(code: int, size: int) -> bytes:
    first, size = code << 4 | size & 15, size >> 4
    if not size:
        return bytes((first,))
    if size < 0x80:
        return bytes((first | 0x80, size))
    out = bytearray((first | 0x80,))
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)


def _index(places: Mapping[bytes, tuple[int, int]], checksum: bytes) -> bytes:
    names = sorted(places)
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    out = INDEX + struct.pack(">256I", *accumulate(counts)) + b"".join(names)
    out += struct.pack(f">{len(names)}I", *(places[name][1] for name in names))
    out += struct.pack(f">{len(names)}I", *(places[name][0] for name in names)) + checksum
    return out + hashlib.sha1(out, usedforsecurity=False).digest()
