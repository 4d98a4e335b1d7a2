"""What a case gives, read and checked before anything runs: case files are anybody's text.

Only the tables, columns and kinds of values of the desk pass, all of them present, so that whatever comes
later (SQL, the rules, the score) may rely on them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from trainer.environments.order_desk.catalogue import CHANGES
from trainer.environments.order_desk.database import KEYS, columns
from trainer.environments.order_desk.fields import FIELDS, Choice, Day
from trainer.errors import ComponentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import Case
    from trainer.environments.order_desk.database import Row
    from trainer.environments.order_desk.fields import Value

MOST = 1_000_000
"""No number of a row is larger; none is below 0."""
MAX_TEXT = 200
"""Characters of a name or a title."""
_ID = re.compile(r"\w[\w.-]{0,63}")
_SHOWN = 60
_REFERENCES = (
    ("orders", "customer_id", "customers"),
    ("orders", "payment_id", "payments"),
    ("items", "order_id", "orders"),
)
"""Table, its column, and the table with a row of that id."""


@dataclass(frozen=True, slots=True)
class Given:
    """The input of a case of the order desk."""

    request: str
    now: str
    """A day in ISO form."""
    wish: Mapping[str, str]
    """`change`, the ids that this change needs, and mostly `how`."""
    world: Mapping[str, Sequence[Row]]
    """Table → rows with all columns but those that tools fill; every id that a row names is there."""


def read_given(case: Case) -> Given:
    """Return what a case gives. Raises ComponentError that names the case and the first thing wrong."""
    try:
        return _read(case.input)
    except ValueError as error:
        raise ComponentError(
            f"case {case.name!r} is none of the order desk: {error}",
            hint="its input needs request, now, wish and world, like those of `xp demo`",
        ) from error


def _read(given: Mapping[str, JsonValue]) -> Given:
    _exactly("input", given, ("request", "now", "wish", "world"))
    request = given["request"]
    if not isinstance(request, str) or not request.strip():
        raise ValueError(f"request must be text, not {_shown(request)}")
    now = _day("now", given["now"])
    world = _world(given["world"], now)
    return Given(request, now.isoformat(), _wish(given["wish"], world), world)


def _world(given: JsonValue, now: date) -> dict[str, list[Row]]:
    tables = _object("world", given)
    _exactly("world", tables, KEYS)
    world = {table: _rows(table, tables[table], now) for table in KEYS}
    ids = {table: {row[KEYS[table]] for row in rows} for table, rows in world.items()}
    for table, column, other in _REFERENCES:
        for number, row in enumerate(world[table]):
            if row[column] not in ids[other]:
                raise ValueError(f"world.{table}[{number}].{column} {row[column]!r} is not in {other}")
    return world


def _rows(table: str, given: JsonValue, now: date) -> list[Row]:
    if not isinstance(given, list) or not given:
        raise ValueError(f"world.{table} must be a list of rows, not {_shown(given)}")
    rows = [_row(table, f"world.{table}[{number}]", row, now) for number, row in enumerate(given)]
    key, count = Counter(row[KEYS[table]] for row in rows).most_common(1)[0]
    if count > 1:
        raise ValueError(f"world.{table} has {count} rows with {KEYS[table]} {key!r}")
    return rows


def _row(table: str, where: str, given: JsonValue, now: date) -> Row:
    row = _object(where, given)
    _exactly(where, row, columns(table))
    return {name: _value(table, name, f"{where}.{name}", row[name], now) for name in row}


def _value(table: str, column: str, where: str, given: JsonValue, now: date) -> Value:
    field = FIELDS[table].get(column)
    if field is None:
        return _id(where, given) if column.endswith("_id") else _text(where, given)
    if isinstance(field, Choice):
        return _choice(where, given, field.words)
    if isinstance(field, Day):
        day = _day(where, given)
        if day > now:
            raise ValueError(f"{where} must not be after now, {now}, and is {day}")
        return day.isoformat()
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MOST:
        raise ValueError(f"{where} must be a whole number from 0 to {MOST}, not {_shown(given)}")
    return given


def _wish(given: JsonValue, world: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    wish = _object("wish", given)
    change = CHANGES[_choice("wish.change", wish.get("change"), CHANGES)]
    _exactly("wish", wish, ("change", *change.keys), optional=("how",))
    read = {"change": change.name, **{key: _id(f"wish.{key}", wish[key]) for key in change.keys}}
    if "how" in wish:
        read["how"] = _choice("wish.how", wish["how"], change.options)
    if not any(row["order_id"] == read["order_id"] for row in world["orders"]):
        raise ValueError(f"wish.order_id {read['order_id']!r} is not in orders")
    items = [row["item_id"] for row in world["items"] if row["order_id"] == read["order_id"]]
    if "item_id" in read and read["item_id"] not in items:
        raise ValueError(f"wish.item_id {read['item_id']!r} is no item of order {read['order_id']!r}")
    return read


def _object(where: str, given: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(given, dict):
        raise ValueError(f"{where} must be an object, not {_shown(given)}")  # noqa: TRY004  # one kind of error here
    return given


def _exactly(
    where: str, given: Mapping[str, JsonValue], wanted: Iterable[str], optional: Iterable[str] = ()
) -> None:
    names = tuple(wanted)
    if missing := [name for name in names if name not in given]:
        raise ValueError(f"{where} has no {missing[0]}")
    if unknown := sorted(given.keys() - {*names, *optional}):
        raise ValueError(f"{where} must not have {_shown(unknown[0])}")


def _id(where: str, given: JsonValue) -> str:
    if not isinstance(given, str) or not _ID.fullmatch(given):
        raise ValueError(f"{where} must be an id of letters and digits, not {_shown(given)}")
    return given


def _text(where: str, given: JsonValue) -> str:
    if not isinstance(given, str) or not 0 < len(given) <= MAX_TEXT or not given.isprintable():
        raise ValueError(f"{where} must be a line of at most {MAX_TEXT} characters, not {_shown(given)}")
    return given


def _choice(where: str, given: JsonValue, words: Iterable[str]) -> str:
    if not isinstance(given, str) or given not in words:
        raise ValueError(f"{where} must be one of {', '.join(words)}, not {_shown(given)}")
    return given


def _day(where: str, given: JsonValue) -> date:
    problem = f"{where} must be a day such as 2025-06-01, not {_shown(given)}"
    if not isinstance(given, str):
        raise ValueError(problem)  # noqa: TRY004  # one kind of error here
    try:
        day = date.fromisoformat(given)
    except ValueError as error:
        raise ValueError(problem) from error
    if day.isoformat() != given:  # `20250601` is a day, too, but is not compared like one
        raise ValueError(problem)
    return day


def _shown(value: JsonValue) -> str:
    """Return a value for a message: escaped, short; nothing for what is not there."""
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
