"""The rules that a company may have: what may be decided how, and which calls go with it.

A rule is about one tool of `catalogue.CHANGES`. Agents never see rules; only `scoring` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.environments.order_desk.catalogue import CHANGES, CHECKS, RECORDS
from trainer.environments.order_desk.fields import FIELDS, Choice, Day, age

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer.environments.order_desk.fields import Field, Value

    Rows = Mapping[str, Mapping[str, Value]]
    """Table → the row that a request is about."""


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The tool may not be called when `field` of the row in `table` compares so."""

    tool: str
    table: str
    field: str
    test: str
    """`is`, `more` (than) or `most` (at most); of a day the age counts."""
    value: Value

    def holds(self, rows: Rows) -> bool:
        """Say whether the call is forbidden for these rows."""
        found = rows[self.table][self.field]
        if self.test == "is":
            return found == self.value
        number = age(str(found)) if isinstance(FIELDS[self.table][self.field], Day) else int(found)
        return (number > int(self.value)) is (self.test == "more")

    def __str__(self) -> str:
        verb = {"is": "is", "more": "is more than", "most": "is at most"}[self.test]
        return f"{self.tool} is forbidden when {self.table}.{self.field} {verb} {self.value}"


@dataclass(frozen=True, slots=True)
class Unwanted:
    """The tool may not be called with this value of the argument that says how."""

    tool: str
    value: str

    def __str__(self) -> str:
        return f"{self.tool} may not be done by {self.value}"


@dataclass(frozen=True, slots=True)
class Before:
    """Another tool must be called before."""

    tool: str
    first: str

    def __str__(self) -> str:
        return f"{self.tool} needs {self.first} before it"


@dataclass(frozen=True, slots=True)
class After:
    """Another tool must be called afterwards."""

    tool: str
    then: str

    def __str__(self) -> str:
        return f"{self.tool} wants {self.then} after it"


Rule = Forbidden | Unwanted | Before | After

_LIMITS: dict[str, tuple[tuple[str, int], ...]] = {
    "joined_at": (("more", 1000), ("most", 500)),
    "open_claims": (("more", 3), ("more", 2), ("most", 1)),
    "placed_at": (("more", 30), ("more", 40), ("most", 20)),
    "total": (("more", 200), ("more", 250), ("most", 150)),
    "instalments": (("more", 6), ("more", 8), ("most", 4)),
    "weight": (("more", 20), ("most", 10)),
}
"""Field → limits, each of which forbids between a third and half of its values."""
_MONEY_TABLES = {"cancel_order", "refund_order", "grant_discount"}


def tables_of(tool: str) -> tuple[str, ...]:
    """Return the tables that a company's rule on a tool may look at."""
    if "item_id" in CHANGES[tool].keys:
        return "orders", "items"
    return ("orders", "customers", "payments") if tool in _MONEY_TABLES else ("orders", "customers")


def forbidden(tool: str) -> list[Forbidden]:
    """Return the rules on when a tool may not be called."""
    return [
        Forbidden(tool, table, name, test, value)
        for table in tables_of(tool)
        for name, field in FIELDS[table].items()
        for test, value in _tests(name, field)
    ]


def unwanted(tool: str) -> list[Unwanted]:
    """Return the rules on how a tool may not be called."""
    return [Unwanted(tool, value) for value in CHANGES[tool].options]


def before(tool: str) -> list[Before]:
    """Return the rules on what must be called before."""
    return [Before(tool, first) for first in CHECKS]


def after(tool: str) -> list[After]:
    """Return the rules on what must be called afterwards."""
    return [After(tool, then) for then in RECORDS]


def pool() -> list[Rule]:
    """Return every rule that a company may have, some two hundred."""
    found: list[Rule] = []
    for tool in CHANGES:
        found += [*forbidden(tool), *unwanted(tool), *before(tool), *after(tool)]
    return found


def _tests(name: str, field: Field) -> list[tuple[str, Value]]:
    if isinstance(field, Choice):
        return [("is", word) for word in field.words]
    return list(_LIMITS[name])
