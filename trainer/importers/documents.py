"""JSON that spans lines, or is one array: read value by value, however long the file is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.importers.jsontext import clean
from trainer.importers.members import Split, object_values
from trainer.importers.window import CutOffError, Window

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

    from pydantic import JsonValue

__all__ = ["CutOffError", "Split", "values"]


def values(
    stream: io.BufferedReader, head: bytes, line: int, limit: int
) -> Iterator[tuple[int, JsonValue | Split]]:
    """Yield (line, value) for the elements of a JSON array, or for JSON values one after the other.

    `head` is what was read of the stream already, `line` where it begins; no value may have more than `limit`
    characters. Of an object with a long array each element is one value (see `members`); an array of chat
    messages is one value, `{"messages": […]}`. Memory: a few times the longest value. Raises CutOffError
    where reading cannot go on.
    """
    window = Window(stream, head, line, limit)
    begin = window.next()
    if begin == "[":
        yield from _elements(window, limit)
        return
    while begin:
        if begin == "{":
            yield from object_values(window, limit)
        else:
            begins = window.line
            yield begins, window.value()
        begin = window.next()
    if window.flaw:
        raise CutOffError(window.flaw, window.line)


def _elements(window: Window, limit: int) -> Iterator[tuple[int, JsonValue | Split]]:
    """Yield the elements of an array; where the first is a chat message, all of them as one value."""
    first = window.line
    messages: list[JsonValue] | None = None
    begin = window.passed
    for number, (line, value) in enumerate(window.elements()):
        if number == 0 and _is_message(value):
            messages = []
        if messages is None:
            yield line, value
            continue
        if window.passed - begin > limit:
            raise CutOffError(f"a conversation of more than {limit // 1024 // 1024} MB", line)
        messages.append(value)
    if messages is not None:
        yield first, {"messages": messages}


def _is_message(value: JsonValue) -> bool:
    """Say whether a value is a chat message by itself, and nothing that holds some."""
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def cleaned(value: JsonValue | Split) -> JsonValue:
    """Return a value that every later step can carry. Raises RecordError."""
    if isinstance(value, Split):
        return {**value.head, value.key: [clean(value.element)]}
    return clean(value)
