"""The objects that calls read, and what they say about a later call whose arguments point to them.

An argument points to an object by id: the object answered a call with the same argument, or its `id` (or its
key in a mapping) is the value, or its first identifier has the same name and value. Of each field the last
answer counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from trainer.offline.masking import is_name

if TYPE_CHECKING:
    from pydantic import JsonValue

_ID = re.compile(r"(?:.*[_.\-])?(?:id|ids|uuid|key|code|number|ref)|.*(?:Id|ID|Ids|Key|Code|Number|Ref)")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?")
_DEPTH = 6
_FIELDS = 60  # fields of one object that are looked at


class Ref(NamedTuple):
    """A place of information: the argument `name`, or field `name` of what `of` points to.

    `of` is empty for an argument; (`k`,) for the object that argument `k` names; (`k`, `f`) for the object
    that field `f` of that object names.
    """

    name: str
    of: tuple[str, ...] = ()


class Term(NamedTuple):
    """What is compared: a value, the length of a list, or the age in days of a moment."""

    kind: str
    """`value`, `count` or `age`."""
    ref: Ref


Scalar = str | float | bool
Features = Mapping[Term, tuple[Scalar, ...]]
"""Term → the values known for it (several where several objects are pointed to)."""


def is_id(key: str) -> bool:
    """Say whether a key names an identifier, by its last word."""
    return _ID.fullmatch(key) is not None


class ObjectIndex:
    """Objects by what names them. `system` may tell the present moment: ages are counted from it."""

    def __init__(self, system: str = "") -> None:
        self._answers: dict[tuple[str, str], Mapping[str, JsonValue]] = {}
        self._by_id: dict[str, Mapping[str, JsonValue]] = {}
        self._mentions: dict[tuple[str, str], Mapping[str, JsonValue]] = {}
        found = _MOMENT.search(system)
        self.now = moment(found[0]) if found else None

    def add(self, arguments: Mapping[str, JsonValue], answer: JsonValue) -> None:
        """Take in what a call answered."""
        if isinstance(answer, dict):
            for key, value in arguments.items():
                if isinstance(value, str) and is_id(key) and answer.get(key, value) == value:
                    self._answers[key, value] = {**self._answers.get((key, value), {}), **answer}
        self._walk(answer, _DEPTH)

    def _walk(self, value: JsonValue, depth: int) -> None:
        if depth == 0:
            return
        if isinstance(value, list):
            for item in value:
                self._walk(item, depth - 1)
        elif isinstance(value, dict):
            own = next((k for k, v in value.items() if isinstance(v, str) and is_id(k)), None)
            for key, item in value.items():
                if isinstance(item, str):
                    self._named(key, item, value, own)
                else:
                    if isinstance(item, dict):
                        self._by_id[key] = item
                    self._walk(item, depth - 1)

    def _named(self, key: str, value: str, owner: Mapping[str, JsonValue], own: str | None) -> None:
        if key == "id":
            self._by_id[value] = owner
        elif key == own:
            self._note(key, value, owner)

    def _note(self, key: str, value: str, owner: Mapping[str, JsonValue]) -> None:
        """Keep an object by its first identifier; a shorter mention does not hide the object itself."""
        old = self._mentions.get((key, value))
        if old is None or len(owner) >= len(old):
            self._mentions[key, value] = owner

    def find(self, key: str, value: JsonValue) -> Mapping[str, JsonValue] | None:
        """Return the object that argument or field `key` with this value points to."""
        if not isinstance(value, str) or not is_id(key):
            return None
        return self._answers.get((key, value)) or self._by_id.get(value) or self._mentions.get((key, value))

    def named_by(self, key: str) -> Iterator[Mapping[str, JsonValue]]:
        """Yield every object that `key` named in a call or names itself by."""
        values = dict.fromkeys(v for place in (self._answers, self._mentions) for k, v in place if k == key)
        return (target for value in values if (target := self.find(key, value)) is not None)


def call_features(arguments: Mapping[str, JsonValue], index: ObjectIndex) -> Features:
    """Return what is known about a call at the moment it is made."""
    found: dict[Term, list[Scalar]] = {}
    for key, value in arguments.items():
        _field(found, Ref(key), value, index)
        for path, item in _leaves(key, value):
            if (target := index.find(path.rsplit(".", 1)[-1], item)) is not None:
                _object(found, (path,), target, index)
                _compare(found, arguments, path, target)
    return {term: tuple(values) for term, values in found.items()}


def object_features(key: str, target: Mapping[str, JsonValue], index: ObjectIndex) -> Features:
    """Return what is known about an object that `key` would name, before any call."""
    found: dict[Term, list[Scalar]] = {}
    _object(found, (key,), target, index)
    return {term: tuple(values) for term, values in found.items()}


def _object(
    found: dict[Term, list[Scalar]], of: tuple[str, ...], target: Mapping[str, JsonValue], index: ObjectIndex
) -> None:
    for name, value in list(target.items())[:_FIELDS]:
        if name == of[-1]:
            continue
        _field(found, Ref(name, of), value, index)
        if len(of) == 1 and (further := index.find(name, value)) is not None and further is not target:
            _object(found, (*of, name), further, index)


def _field(found: dict[Term, list[Scalar]], ref: Ref, value: JsonValue, index: ObjectIndex) -> None:
    if not is_name(ref.name):
        return
    if isinstance(value, bool | str):
        found.setdefault(Term("value", ref), []).append(value)
        if isinstance(value, str) and index.now and (when := moment(value)):
            found.setdefault(Term("age", ref), []).append((index.now - when).total_seconds() / 86400)
    elif isinstance(value, int | float):
        found.setdefault(Term("value", ref), []).append(float(value))
    elif isinstance(value, list):
        found.setdefault(Term("count", ref), []).append(float(len(value)))


def _compare(
    found: dict[Term, list[Scalar]],
    arguments: Mapping[str, JsonValue],
    path: str,
    target: Mapping[str, JsonValue],
) -> None:
    """Note which fields of the object the call changes, and which identifiers are among its parts."""
    for key, value in arguments.items():
        if key in path.split("."):
            continue
        if key in target and is_name(key):
            found.setdefault(Term("change", Ref(key, (path,))), []).append(differs(value, target[key]))
        if isinstance(value, str) and is_id(key) and key not in target:
            for name, part in target.items():
                if isinstance(part, list | dict) and part and is_name(name):
                    place = Term(f"among:{key}", Ref(name, (path,)))
                    found.setdefault(place, []).append(any(value == leaf for _, leaf in _leaves(name, part)))


def differs(new: JsonValue, old: JsonValue) -> bool:
    """Say whether two values differ in what both state: objects by shared keys, lists in any order."""
    if isinstance(new, dict) and isinstance(old, dict):
        return any(differs(new[k], old[k]) for k in new.keys() & old.keys())
    if isinstance(new, list) and isinstance(old, list):
        if len(new) != len(old):
            return True
        rest = list(old)
        for item in new:
            match = next((other for other in rest if not differs(item, other)), None)
            if match is None:
                return True
            rest.remove(match)
        return False
    return new != old


def _leaves(key: str, value: JsonValue, depth: int = _DEPTH) -> Iterator[tuple[str, JsonValue]]:
    """Yield (path of names, scalar) of an argument; positions in lists are not part of the path."""
    if depth == 0:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(f"{key}.{name}", item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(key, item, depth - 1)
    else:
        yield key, value


def leaves(arguments: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Yield (path of names, scalar) of all arguments, such as `items.order_id`."""
    for key, value in arguments.items():
        yield from _leaves(key, value)


def moment(text: str) -> datetime | None:
    """Return the moment that a text states in ISO form, as UTC where it names no zone; None if none."""
    if not _MOMENT.match(text):
        return None
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
