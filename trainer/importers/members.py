"""A large JSON object, read member by member: its one long array is handed over element by element.

So a log of a hundred samples needs the memory of its head and of one sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.importers.jsontext import RecordError, clean
from trainer.importers.window import CutOffError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from trainer.importers.window import Window

LONG = {"simulations": ("info", "tasks"), "samples": ("eval",)}
"""The member that is long → those of which one must stand before it. What stands behind it is not needed."""
UNREAD = frozenset({"results", "stats", "reductions", "plan"})
"""Members of logs that are left out: they sum up the rest, and may say NaN."""


@dataclass(frozen=True, slots=True)
class Split:
    """One element of the long array of an object, with what stands before the array."""

    head: Mapping[str, JsonValue]
    """Clean."""
    key: str
    element: JsonValue
    """Not yet clean."""


def object_values(window: Window, limit: int) -> Iterator[tuple[int, JsonValue | Split]]:
    """Yield (line, value) for the object that begins in the window, or for each element of its long array.

    Raises CutOffError.
    """
    line = window.line
    head: dict[str, JsonValue] = {}
    begin = window.passed
    was_long, is_first = False, True
    window.expect("{")
    while window.next() != "}":
        if not is_first:
            window.expect(",")
        is_first = False
        key = window.key()
        if _is_long(key, head) and window.next() == "[":
            was_long = True
            clear = _clear(head, line)
            for begins, element in window.elements():
                yield begins, Split(clear, key, element)
            begin = window.passed
            continue
        value = window.value(limit - (window.passed - begin))
        if not was_long:
            head[key] = value
    window.expect("}")
    if not was_long:
        yield line, head


def _is_long(key: str, head: Mapping[str, JsonValue]) -> bool:
    return any(isinstance(head.get(name), dict | list) for name in LONG.get(key, ()))


def _clear(head: Mapping[str, JsonValue], line: int) -> dict[str, JsonValue]:
    """Return the head of an object clean. Raises CutOffError where it cannot be carried."""
    try:
        return {key: clean(value) for key, value in head.items() if key not in UNREAD}
    except RecordError as error:
        raise CutOffError(str(error), line) from None
