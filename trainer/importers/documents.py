"""JSON that spans lines, or is one array: read value by value, however long the file is."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING

from trainer.importers.jsontext import RecordError, decode_at

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

    from pydantic import JsonValue

CHUNK = 1 << 20
_BLANK = re.compile(r"[ \t\r\n]*")
_TAIL = 16  # characters; json reports an error that a value which goes on would heal no farther from the end


class CutOffError(RecordError):
    """Nothing after this place of the file can be read. `line` is counted from 1."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.line = line


class _Window:
    """The part of a text that is being read. What is done with is dropped, more is decoded when needed."""

    def __init__(self, stream: io.BufferedReader, head: bytes, line: int) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._line = line
        self.text = ""
        self.at = 0
        self.ended = False
        self.flaw = ""
        """Why the text ends before its file does."""
        if head:
            self._decode(head)

    @property
    def line(self) -> int:
        """The line of `at`."""
        return self.line_of(self.at)

    def line_of(self, place: int) -> int:
        return self._line + self.text.count("\n", 0, place)

    def more(self) -> bool:
        """Decode as much again as is left, and return whether there was anything."""
        if self.ended:
            return False
        self._line = self.line
        self.text = self.text[self.at :]
        self.at = 0
        self._decode(self._stream.read(max(CHUNK, len(self.text))))
        return not self.ended

    def _decode(self, data: bytes) -> None:
        self.ended = not data
        try:
            self.text += self._decoder.decode(data, final=self.ended)
        except UnicodeDecodeError as error:
            self.text += error.object[: error.start].decode()
            self.flaw = "not UTF-8"
            self.ended = True

    def next(self) -> str:
        """Pass over white space and return the character that follows; "" at the end."""
        while True:
            match = _BLANK.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def value(self, limit: int) -> JsonValue:
        """Return the value that begins here and pass over it. Raises CutOffError where there is no end."""
        while True:
            begin = self.at  # `more` moves it
            try:
                value, end = decode_at(self.text, begin)
            except json.JSONDecodeError as error:
                if self._goes_on(error, limit) and self.more():
                    continue
                place = len(self.text) if self.flaw else self.at + error.pos - begin
                raise CutOffError(self.flaw or f"not valid JSON: {error.msg}", self.line_of(place)) from None
            except RecordError as error:
                raise CutOffError(str(error), self.line) from None
            is_number = isinstance(value, int | float)
            if is_number and len(self.text) - end < _TAIL and self.more():
                continue  # a number may go on
            self.at += end - begin
            return value

    def _goes_on(self, error: json.JSONDecodeError, limit: int) -> bool:
        """Say whether the value may only be unfinished: what is here is the beginning of one."""
        if len(self.text) - self.at > limit:
            raise CutOffError(f"a value of more than {limit // 1024 // 1024} MB", self.line)
        return error.msg.startswith("Unterminated string") or error.pos >= len(self.text) - _TAIL


def values(stream: io.BufferedReader, head: bytes, line: int, limit: int) -> Iterator[tuple[int, JsonValue]]:
    """Yield (line, value) for the elements of a JSON array, or for JSON values one after the other.

    `head` is what was read of the stream already, `line` where it begins; no value may have more than `limit`
    characters. Memory: a few times the longest value. Raises CutOffError where reading cannot go on.
    """
    window = _Window(stream, head, line)
    in_array = window.next() == "["
    window.at += in_array
    while window.next() not in {"", "]"}:
        begins = window.line
        yield begins, window.value(limit)
        if in_array and window.next() == ",":
            window.at += 1
    if window.flaw:
        raise CutOffError(window.flaw, window.line)
    if in_array and window.next() == "":
        raise CutOffError("the JSON array has no end: the file was cut off", window.line)
