"""Recordings in archives: gzip, and Inspect's `.eval`, a zip with one file of JSON for each sample.

Archives may be made to burst: each has at most UNPACKED bytes in all, each file of a zip at most `limit`; and
names of files in an archive are compared, never used as paths.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from typing import TYPE_CHECKING, cast

from trainer.importers.jsontext import RecordError, as_object, clean, decode_at, parse
from trainer.importers.members import UNREAD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from pydantic import JsonValue

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
UNPACKED = 4 << 30
"""Bytes that one archive may hold."""
FILES = 100_000
"""Files that one zip archive may hold."""
_HEADS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/[^/]{1,200}\.json")
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
"""What `zipfile` raises for an archive that is damaged, encrypted, or made by something else."""


class _Unpacked(io.RawIOBase):
    """The bytes in a gzip archive. What is damaged, or too much, ends them, and `flaw` says so."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._source = gzip.GzipFile(fileobj=stream, mode="rb")
        self._left = limit
        self.flaw = ""

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as there is anything."""
        if self.flaw:
            return 0
        try:
            data = self._source.read1(min(len(buffer), self._left + 1))
        except (OSError, EOFError, zlib.error) as error:
            self.flaw = f"the gzip archive is damaged: {error}"
            return 0
        self._left -= len(data)
        if self._left < 0:
            self.flaw = f"the gzip archive holds more than {UNPACKED >> 30} GB"
            return 0
        buffer[: len(data)] = data
        return len(data)


class Unzipped:
    """A gzip archive as a stream, and what ended it before its time."""

    def __init__(self, stream: IO[bytes], limit: int = UNPACKED) -> None:
        self._raw = _Unpacked(stream, limit)
        self.stream = cast("io.BufferedReader", io.BufferedReader(self._raw, 1 << 16))

    @property
    def flaw(self) -> str:
        """Why the stream ended; empty where all was read."""
        return self._raw.flaw


def eval_records(stream: IO[bytes], limit: int) -> Iterator[tuple[str, JsonValue | RecordError]]:
    """Yield (file in the archive, a log with one of its samples) for a log of Inspect in a zip archive.

    Raises RecordError where it is none.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            yield from _samples(archive, limit)
    except RecordError:
        raise
    except _BROKEN as error:
        raise RecordError(f"the zip archive is damaged: {error}") from None


def _samples(archive: zipfile.ZipFile, limit: int) -> Iterator[tuple[str, JsonValue | RecordError]]:
    files = archive.infolist()
    if len(files) > FILES:
        raise RecordError(f"the zip archive holds more than {FILES:,} files")
    by_name = {file.filename: file for file in files}  # of two with one name the last counts, as for others
    head = next((by_name[name] for name in _HEADS if name in by_name), None)
    if head is None:
        raise RecordError("this is a zip archive, but no log of Inspect: unpack it first")
    log = as_object(_read(archive, head, limit, UNREAD), head.filename)
    found = [file for name, file in by_name.items() if _SAMPLE.fullmatch(name)]
    if not found:
        raise RecordError("the log holds no samples")
    left = UNPACKED
    for file in found:
        left -= file.file_size
        if left < 0:
            raise RecordError(f"the zip archive holds more than {UNPACKED >> 30} GB")
        try:
            sample = _read(archive, file, limit)
        except RecordError as error:
            yield file.filename, error
        else:
            yield file.filename, {**log, "samples": [sample]}


def _read(
    archive: zipfile.ZipFile, file: zipfile.ZipInfo, limit: int, unread: frozenset[str] = frozenset()
) -> JsonValue:
    """Return the JSON of a file in the archive; no more is read than it claims to have, and than `limit`."""
    if file.file_size > limit:
        raise RecordError(f"more than {limit // 1024 // 1024} MB")
    if file.compress_type not in _METHODS:
        raise RecordError("it is packed with zstandard: 'inspect log convert --to json' writes it unpacked")
    try:
        with archive.open(file) as opened:
            data = opened.read(file.file_size + 1)  # zipfile itself stops at the size that is claimed
    except _BROKEN as error:
        raise RecordError(f"damaged: {error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(f"not UTF-8 at byte {error.start + 1}") from None
    if not unread:
        return parse(text)
    return _without(text, unread)


def _without(text: str, unread: frozenset[str]) -> JsonValue:
    """Return an object without some members, which may hold what JSON has no place for."""
    try:
        value, _ = decode_at(text.strip(), 0)
    except json.JSONDecodeError as error:
        raise RecordError(f"not valid JSON: {error.msg}") from None
    if isinstance(value, dict):
        return clean({key: item for key, item in value.items() if key not in unread})
    return clean(value)
