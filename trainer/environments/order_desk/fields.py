"""What the shop's rows look like: their fields and how values are drawn.

Values are drawn by quantile, so that a set of cases covers every field evenly and by chance at once. Nothing
here knows the rules: the same cases come with any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = date(2025, 6, 1)
"""The day on which all requests come."""

Value = str | int


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    def at(self, quantile: float) -> str:
        """Return the word at a quantile, 0 <= quantile < 1."""
        return self.words[int(quantile * len(self.words))]


@dataclass(frozen=True, slots=True)
class Span:
    """A whole number from low to high."""

    low: int
    high: int

    def at(self, quantile: float) -> int:
        """Return the number at a quantile, 0 <= quantile < 1."""
        return self.low + int(quantile * (self.high - self.low + 1))


@dataclass(frozen=True, slots=True)
class Day:
    """A day from `high` to `low` days before NOW, in ISO form."""

    low: int
    high: int

    def at(self, quantile: float) -> str:
        """Return the day at a quantile of its age, 0 <= quantile < 1."""
        return (NOW - timedelta(days=Span(self.low, self.high).at(quantile))).isoformat()


Field = Choice | Span | Day

FIELDS: dict[str, dict[str, Field]] = {
    "customers": {
        "tier": Choice(("basic", "silver", "gold")),
        "region": Choice(("inland", "island", "abroad")),
        "joined_at": Day(20, 1600),
        "open_claims": Span(0, 5),
    },
    "orders": {
        "status": Choice(("processing", "packed", "shipped")),
        "channel": Choice(("web", "app", "phone")),
        "warehouse": Choice(("north", "south", "west")),
        "gift": Choice(("yes", "no")),
        "placed_at": Day(1, 60),
        "total": Span(12, 400),
    },
    "payments": {
        "kind": Choice(("card", "invoice", "wallet")),
        "instalments": Span(1, 12),
        "settled": Choice(("yes", "no")),
    },
    "items": {
        "category": Choice(("clothing", "electronics", "garden")),
        "opened": Choice(("yes", "no")),
        "weight": Span(1, 30),
    },
}
"""Table → field → its values. Rules are about these; ids and what tools change are in `database`."""


def draw_row(table: str, quantile: Callable[[str], float]) -> dict[str, Value]:
    """Return the drawn fields of a row; `quantile` takes `table.field`."""
    return {name: field.at(quantile(f"{table}.{name}")) for name, field in FIELDS[table].items()}


def age(day: str) -> int:
    """Return how many days before NOW a day in ISO form was."""
    return (NOW - date.fromisoformat(day)).days
