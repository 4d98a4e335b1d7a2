"""Files become JSON records with the line where each begins; what cannot be read becomes a `Problem`.

Files are streamed: memory is bounded by `MAX_LINE`, for one line or for one value of JSON that spans lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

from trainer.importers.detect import recognised
from trainer.importers.documents import CutOffError, cleaned, values
from trainer.importers.jsontext import RecordError, parse
from trainer.importers.packed import GZIP, ZIP, Unzipped, eval_records
from xpstore.errors import UsageError

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

MAX_LINE = 32 * 1024 * 1024
"""Bytes of one line of JSONL, characters of one value in other JSON."""
_PEEK_LINES = 16
_BOM = b"\xef\xbb\xbf"
_MAGIC = {
    b"\xff\xfe": "UTF-16 text: convert it to UTF-8",
    b"\xfe\xff": "UTF-16 text: convert it to UTF-8",
    GZIP: "a gzip archive in an archive: unpack it first",
    ZIP: "a zip archive in an archive: unpack it first",
    b"\x28\xb5\x2f\xfd": "a zstd archive: unpack it first",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was not imported: where and why."""

    path: str
    line: int
    """Counted from 1; 0 means the whole file."""
    why: str
    kind: Literal["broken", "duplicate", "warning", "score"] = "broken"
    """`warning`: it was imported all the same; `score`: it is about the file of scores."""

    def __str__(self) -> str:
        """Return it as compilers do: `file:line: why`."""
        return f"{self.path}:{self.line}: {self.why}" if self.line else f"{self.path}: {self.why}"


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value of a file."""

    path: str
    line: int
    """0 for a file in an archive."""
    value: JsonValue


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a file; without its bytes where these are more than `MAX_LINE`."""

    number: int
    data: bytes
    too_long: bool = False

    def value(self) -> JsonValue:
        """Return the JSON value of the line."""
        if self.too_long:
            raise RecordError(f"the line is longer than {MAX_LINE // 1024 // 1024} MB")
        try:
            return parse(self.data.decode())
        except UnicodeDecodeError as error:
            raise RecordError(f"not UTF-8 at byte {error.start + 1} of the line") from None

    def is_record(self) -> bool:
        """Say whether the line is a record by itself (or too long to be anything else)."""
        try:
            return self.too_long or recognised(self.value())
        except RecordError:
            return False


def check_readable(path: Path) -> None:
    """Raise `UsageError` with a hint when the path is missing, a directory or not to be opened."""
    hint = "give files with recorded rollouts"
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a directory", hint=f"name the files in it: {path}/*.jsonl")
        if path.is_file():  # opening a pipe twice would lose what is in it
            path.open("rb").close()
        elif not path.exists():
            raise UsageError(f"{path} does not exist", hint=hint)
    except PermissionError:
        raise UsageError(f"{path}: permission denied", hint="make the file readable for you") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path!s:.200} cannot be read: {error}", hint=hint) from None


def read_records(path: Path) -> Iterator[Record | Problem]:
    """Yield the records of one file in order; `UsageError` when the disk refuses."""
    name = str(path)
    try:
        with path.open("rb") as stream:
            yield from _from_file(stream, name)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error}", hint="give a readable file") from error


def _from_file(stream: io.BufferedReader, name: str) -> Iterator[Record | Problem]:
    """Yield the records of a file, unpacked where it is an archive."""
    magic = stream.peek(len(ZIP))
    if magic.startswith(ZIP):
        if not stream.seekable():
            yield Problem(name, 0, "a zip archive cannot be read from a pipe: write it to a file first")
            return
        try:
            for file, value in eval_records(stream, MAX_LINE):
                if isinstance(value, RecordError):
                    yield Problem(name, 0, f"{file}: {value}")
                else:
                    yield Record(name, 0, value)
        except RecordError as error:
            yield Problem(name, 0, str(error))
    elif magic.startswith(GZIP):
        unzipped = Unzipped(stream)
        if unzipped.stream.peek(1) or not unzipped.flaw:
            yield from _records(unzipped.stream, name)
        if unzipped.flaw:
            yield Problem(name, 0, unzipped.flaw)
    else:
        yield from _records(stream, name)


def _records(stream: io.BufferedReader, name: str) -> Iterator[Record | Problem]:
    unreadable = _unreadable(stream.peek(1))
    if unreadable:
        yield Problem(name, 0, unreadable)
        return
    number = _skip_blank(stream)
    begin = stream.peek(1)[:1]
    if begin == b"[":
        yield from _from_document(stream, b"", number, name)
        return
    lines = _lines(stream, number)
    first = _first_lines(lines)
    if not first:
        yield Problem(name, 0, "the file is empty")
    elif begin == b"{" and not _are_records(first):
        head = b"".join(line.data for line in first)
        yield from _from_document(stream, head, number, name)
    elif begin != b"{" and not _are_records(first):
        yield Problem(name, 0, "this is not JSON")
    else:
        yield from _from_lines(chain(first, lines), name)


def _unreadable(head: bytes) -> str:
    """Say why a file that begins with these bytes is none of ours; empty when it may be."""
    if not head:
        return "the file is empty"
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            return f"this is {what}"
    if b"\0" in head:
        return "this is a binary file (or UTF-16 text): rollouts are UTF-8 JSON"
    return ""


def _skip_blank(stream: io.BufferedReader) -> int:
    """Pass over a byte order mark and blank lines; return the number of the line that comes next."""
    number = 1
    if stream.peek(len(_BOM)).startswith(_BOM):
        stream.read(len(_BOM))
    while (byte := stream.peek(1)[:1]) and byte in b" \t\r\n":
        number += stream.read(1) == b"\n"
    return number


def _lines(stream: io.BufferedReader, number: int) -> Iterator[_Line]:
    """Yield the lines, counted from `number`; the bytes of one over the limit are passed over."""
    while data := stream.readline(MAX_LINE):
        too_long = len(data) == MAX_LINE and not data.endswith(b"\n")
        while too_long and (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
            pass
        yield _Line(number, b"" if too_long else data, too_long)
        number += 1


def _first_lines(lines: Iterator[_Line]) -> list[_Line]:
    """Return as many lines as it takes to tell lines of JSON from JSON that spans lines."""
    first: list[_Line] = []
    size = 0
    for line in lines:
        first.append(line)
        size += len(line.data)
        if line.is_record() or len(first) == _PEEK_LINES or size > MAX_LINE:
            break
    return first


def _are_records(first: list[_Line]) -> bool:
    """Say whether these are lines of JSON: one is a record, or the first is complete by itself."""
    if any(line.is_record() for line in first[-1:]):
        return True
    try:
        first[0].value()
    except RecordError:
        return False
    return True


def _from_lines(lines: Iterator[_Line], name: str) -> Iterator[Record | Problem]:
    for line in lines:
        if not line.data.strip() and not line.too_long:
            continue
        try:
            yield Record(name, line.number, line.value())
        except RecordError as error:
            yield Problem(name, line.number, str(error))


def _from_document(
    stream: io.BufferedReader, head: bytes, line: int, name: str
) -> Iterator[Record | Problem]:
    """Yield the elements of a JSON array, or JSON values one after the other; stop where it is broken."""
    try:
        for number, value in values(stream, head, line, MAX_LINE):
            try:
                yield Record(name, number, cleaned(value))
            except RecordError as error:
                yield Problem(name, number, str(error))
    except CutOffError as error:
        yield Problem(name, error.line, f"{error}; what follows in the file was not read")
