"""The `[environment.options]` of an environment: values that are read by name, and nothing left unread."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue


class Options:
    """Reads options one by one. Raises TypeError and ValueError, which name the option, for what is wrong."""

    def __init__(self, given: Mapping[str, JsonValue]) -> None:
        self._given = given
        self._known: list[str] = []

    def whole(self, name: str, default: int, *, least: int | None = None) -> int:
        """Return a whole number, at least `least`."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be a whole number, not {value!r}")
        if least is not None and value < least:
            raise ValueError(f"{name} must be at least {least}, not {value}")
        return value

    def number(self, name: str, default: float, *, least: float = -inf, most: float = inf) -> float:
        """Return a number from `least` to `most`."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name} must be a number, not {value!r}")
        if not least <= value <= most:
            raise ValueError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}")
        return float(value)

    def text(self, name: str, default: str, choices: Sequence[str] = ()) -> str:
        """Return a text, one of `choices` where there are any."""
        value = self._value(name, default)
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a text, not {value!r}")
        if choices and value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        return value

    def check_all_read(self) -> None:
        """Raise ValueError where an option was given that nobody read."""
        if unknown := sorted(self._given.keys() - set(self._known)):
            raise ValueError(f"there is no option {unknown[0]!r} here, only {', '.join(self._known)}")

    def _value(self, name: str, default: JsonValue) -> JsonValue:
        self._known.append(name)
        return self._given.get(name, default)
