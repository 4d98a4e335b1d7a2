"""The shop's database: SQLite in memory, one per rollout. The only module here that knows SQL."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Self

from trainer.environments.order_desk.fields import FIELDS, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trainer.environments.order_desk.fields import Value

    Row = dict[str, Value]
    World = Mapping[str, Sequence[Mapping[str, Value]]]

KEYS = {"customers": "customer_id", "orders": "order_id", "payments": "payment_id", "items": "item_id"}
"""Table → its primary key."""
OPEN = "none"
"""What stands in a column that a tool fills."""
STATE: dict[str, tuple[str, ...]] = {
    "orders": ("settlement", "place", "discount", "delivery"),
    "payments": ("refunded_by",),
    "items": ("returned_by",),
}
"""Table → the columns that tools fill, OPEN before."""
LINKS: dict[str, tuple[str, ...]] = {
    "customers": ("name",),
    "orders": ("customer_id", "payment_id"),
    "items": ("order_id", "title"),
}
"""Table → other text columns."""


def columns(table: str) -> tuple[str, ...]:
    """Return the columns of a table that a case gives: its key, the other texts, the fields."""
    return KEYS[table], *LINKS.get(table, ()), *FIELDS[table]


class Shop:
    """One database. Use it as a context manager, or close it."""

    def __init__(self, world: World) -> None:
        """Make it of rows that `given.read_given` has read: all columns are there."""
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        self._db.row_factory = sqlite3.Row
        for table, key in KEYS.items():
            kinds = {key: "TEXT PRIMARY KEY"}
            kinds |= {n: "INTEGER" for n, field in FIELDS[table].items() if isinstance(field, Span)}
            made = [f"{name} {kinds.get(name, 'TEXT')}" for name in columns(table)]
            made += [f"{name} TEXT DEFAULT '{OPEN}'" for name in STATE.get(table, ())]
            self._db.execute(f"CREATE TABLE {table} ({', '.join(made)})")
            for row in world.get(table, ()):
                self._insert(table, row)
        self._db.execute("CREATE TABLE records (kind TEXT, order_id TEXT, text TEXT)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def _insert(self, table: str, row: Mapping[str, Value]) -> None:
        names = columns(table)
        marks = ", ".join("?" * len(names))
        query = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608  # names of this module
        self._db.execute(query, [row[name] for name in names])

    def find(self, table: str, key: str) -> Row | None:
        """Return a row by its primary key, or None."""
        found = self.where(table, KEYS[table], key)
        return found[0] if found else None

    def where(self, table: str, column: str, value: str) -> list[Row]:
        """Return the rows of a table with this text in a column, in the order in which they were made."""
        query = f"SELECT * FROM {table} WHERE {column} = ? ORDER BY rowid"  # noqa: S608  # names of this module
        return [dict(row) for row in self._db.execute(query, (value,))]

    def change(self, table: str, key: str, column: str, value: str) -> None:
        """Set one column of one row."""
        query = f"UPDATE {table} SET {column} = ? WHERE {KEYS[table]} = ?"  # noqa: S608  # names of this module
        self._db.execute(query, (value, key))

    def record(self, kind: str, order_id: str, text: str) -> None:
        """Add a record, such as a note or a message, to an order."""
        self._db.execute("INSERT INTO records VALUES (?, ?, ?)", (kind, order_id, text))

    def changes(self) -> dict[tuple[str, str, str], str]:
        """Return (table, key, column) → value of every column that a tool has filled."""
        found: dict[tuple[str, str, str], str] = {}
        for table, columns in STATE.items():
            for row in self._db.execute(f"SELECT * FROM {table} ORDER BY rowid"):  # noqa: S608
                found |= {(table, row[KEYS[table]], c): row[c] for c in columns if row[c] != OPEN}
        return found
