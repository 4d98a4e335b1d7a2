"""What can be said about all rollouts together: which tools write, which values are vocabulary."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.offline.masking import changes_something, is_name, is_value
from trainer.offline.objects import Term, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.offline.facts import Facts

MAX_VALUES = 12
"""A key with more distinct values than this holds instance data, not vocabulary."""
MIN_CASES = 3
"""Support that a value, a tool or a lesson needs."""


@dataclass(frozen=True)
class Corpus:
    """The rollouts, sorted by case and id, and what they share."""

    rollouts: tuple[Facts, ...]

    @classmethod
    def of(cls, rollouts: Sequence[Facts]) -> Corpus:
        """Return the corpus of a set of rollouts, whatever their order."""
        return cls(tuple(sorted({r.id: r for r in rollouts}.values(), key=lambda r: (r.case, r.id))))

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """Tools called in enough cases, with names fit for a lesson, sorted."""
        cases: defaultdict[str, set[str]] = defaultdict(set)
        for r in self.rollouts:
            for call in r.calls:
                cases[call.tool].add(r.case)
        return tuple(sorted(t for t, found in cases.items() if len(found) >= MIN_CASES and is_name(t)))

    @cached_property
    def writing(self) -> tuple[str, ...]:
        """Tools that change something: no reading verb in front, not the same answer to the same question."""
        return tuple(t for t in self.tools if changes_something(t) and not self._repeats(t))

    @cached_property
    def reading(self) -> tuple[str, ...]:
        """All other tools."""
        return tuple(t for t in self.tools if t not in set(self.writing))

    @cached_property
    def identifying(self) -> frozenset[str]:
        """Arguments of reading tools: the keys under which objects are known."""
        return frozenset(k for r in self.rollouts for t in self.reading for c in r.of(t) for k in c.arguments)

    def _repeats(self, tool: str) -> bool:
        """Say whether the same accepted call within a rollout was answered alike, at least three times."""
        same = 0
        for r in self.rollouts:
            answers: dict[str, str] = {}
            for call in r.of(tool):
                if call.refused:
                    continue
                key = repr(sorted(call.arguments.items(), key=lambda item: item[0]))
                if key in answers and answers[key] != call.output:
                    return False
                same += key in answers
                answers[key] = call.output
        return same >= MIN_CASES

    @cached_property
    def values(self) -> Mapping[str, frozenset[str]]:
        """Key → its distinct texts over all arguments and answers; keys with too many values are left out."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for r in self.rollouts:
            for call in r.calls:
                for key, value in _texts(call.arguments, call.data):
                    if len(found[key]) <= MAX_VALUES:
                        found[key].add(value)
        return {k: frozenset(v) for k, v in found.items() if len(v) <= MAX_VALUES}

    def is_vocabulary(self, term: Term, value: str) -> bool:
        """Say whether a value may stand in a lesson: its key has few values, and it is a plain word."""
        return value in self.values.get(term.ref.name, frozenset()) and is_value(value)

    @cached_property
    def listings(self) -> tuple[tuple[str, str, str, str], ...]:
        """(reader, key, source, listing): `reader` takes entries of a list that `source` answers as `key`."""
        cases: defaultdict[tuple[str, str, str, str], set[str]] = defaultdict(set)
        for r in self.rollouts:
            listed: list[tuple[str, str, set[str]]] = []
            for call in r.calls:
                for key, value in call.arguments.items():
                    for source, listing, entries in listed:
                        if isinstance(value, str) and value in entries:
                            cases[call.tool, key, source, listing].add(r.case)
                if isinstance(call.data, dict):
                    for name, value in call.data.items():
                        if isinstance(value, list | dict) and value and is_name(name):
                            listed.append((call.tool, name, {str(e) for e in value if isinstance(e, str)}))
        return tuple(
            sorted(
                found
                for found, where in cases.items()
                if len(where) >= MIN_CASES and self._is_listing(*found)
            )
        )

    def _is_listing(self, reader: str, key: str, source: str, listing: str) -> bool:
        return reader in self.reading and reader != source and is_name(key) and is_name(listing)


def _texts(arguments: Mapping[str, JsonValue], data: JsonValue) -> Iterator[tuple[str, str]]:
    answer: Mapping[str, JsonValue] = data if isinstance(data, dict) else {"": data}
    for source in (arguments, answer):
        for path, value in leaves(source):
            if isinstance(value, str):
                yield path.rsplit(".", 1)[-1], value
