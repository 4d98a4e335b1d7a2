"""The part of a JSON text that is being read: what is done with is dropped, more is decoded when needed."""

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


class Window:
    """A text that is being read; no value in it may have more than `limit` characters."""

    def __init__(self, stream: io.BufferedReader, head: bytes, line: int, limit: int) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._line = line
        self._limit = limit
        self._dropped = 0
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

    @property
    def passed(self) -> int:
        """How many characters were passed over."""
        return self._dropped + self.at

    def line_of(self, place: int) -> int:
        """Return the line of a place in the text."""
        return self._line + self.text.count("\n", 0, place)

    def more(self) -> bool:
        """Decode as much again as is left, and return whether there was anything."""
        if self.ended:
            return False
        self._line = self.line
        self._dropped += self.at
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

    def value(self, room: int | None = None) -> JsonValue:
        """Return the value that begins here and pass over it. Raises CutOffError where there is no end.

        `room` is what is left of the limit, where the value is a part of something.
        """
        while True:
            begin = self.at  # `more` moves it
            try:
                value, end = decode_at(self.text, begin)
            except json.JSONDecodeError as error:
                if self._goes_on(error, room) and self.more():
                    continue
                place = len(self.text) if self.flaw else self.at + error.pos - begin
                raise CutOffError(self.flaw or f"not valid JSON: {error.msg}", self.line_of(place)) from None
            except RecordError as error:
                raise CutOffError(str(error), self.line) from None
            is_number = isinstance(value, int | float)
            if is_number and len(self.text) - end < _TAIL and self.more():
                continue  # a number may go on
            if room is not None and end - begin > room:
                raise self._too_long()
            self.at += end - begin
            return value

    def expect(self, char: str) -> None:
        """Pass over this character. Raises CutOffError where another one is next."""
        found = self.next()
        if found != char:
            why = self.flaw or ("the JSON object has no end: the file was cut off" if not found else "")
            raise CutOffError(why or f"not valid JSON: {char!r} was expected", self.line)
        self.at += 1

    def key(self) -> str:
        """Pass over the key of a member and its colon. Raises CutOffError."""
        if self.next() != '"':
            self.expect('"')
        key = self.value()
        self.expect(":")
        self.next()
        return str(key)

    def elements(self) -> Iterator[tuple[int, JsonValue]]:
        """Yield (line, value) for the elements of the array that begins here. Raises CutOffError."""
        self.expect("[")
        while self.next() not in {"", "]"}:
            begins = self.line
            yield begins, self.value()
            if self.next() == ",":
                self.at += 1
        if self.flaw:
            raise CutOffError(self.flaw, self.line)
        if self.next() == "":
            raise CutOffError("the JSON array has no end: the file was cut off", self.line)
        self.at += 1

    def _goes_on(self, error: json.JSONDecodeError, room: int | None) -> bool:
        """Say whether the value may only be unfinished: what is here is the beginning of one."""
        if len(self.text) - self.at > (self._limit if room is None else room):
            raise self._too_long()
        return error.msg.startswith("Unterminated string") or error.pos >= len(self.text) - _TAIL

    def _too_long(self) -> CutOffError:
        return CutOffError(f"a value of more than {self._limit // 1024 // 1024} MB", self.line)
