"""Conditions of lessons: what can be said about a call and the objects that its arguments name.

    CONDITION  ATOM [and ATOM]…
    ATOM       TERM is `value` | TERM is not `value` | TERM is more than N | TERM is at most N
               (N: a number; from zero to ten also as a word)
               | TERM is more than TERM | TERM is at most TERM
               | the argument `a` differs from the `a` of `k` | the argument `a` equals the `a` of `k`
               | the argument `a` is among the `f` of `k` | the argument `a` is not among the `f` of `k`
    TERM       REF | the number of entries in REF | the age in days of REF
    REF        the argument `a` | the `f` of `k` | the `g` of the `f` of `k`

`k` is an argument (`a.b` for one inside others) that names an object which was read before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from trainer.offline.objects import Ref, Scalar, Term

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trainer.offline.objects import Features

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NAME = r"`([^`\s]+)`"
_NUMBER = rf"(-?[\d.]+(?:e[+-]?\d+)?|{'|'.join(_WORDS)})"
_REF = rf"(?:the argument {_NAME}|the {_NAME} of (?:the {_NAME} of )?{_NAME})"
_TERM = rf"(the number of entries in |the age in days of )?{_REF}"
_ATOMS = (
    ("change", re.compile(rf"the argument {_NAME} (differs from|equals) the {_NAME} of {_NAME}")),
    ("among", re.compile(rf"the argument {_NAME} is (not )?among the {_NAME} of {_NAME}")),
    ("is", re.compile(rf"{_TERM} is (not )?{_NAME}")),
    ("number", re.compile(rf"{_TERM} is (more than|at most) {_NUMBER}")),
    ("terms", re.compile(rf"{_TERM} is (more than|at most) {_TERM}")),
)
_KINDS = {"": "value", "the number of entries in ": "count", "the age in days of ": "age"}
_KIND_WORDS = {kind: text for text, kind in _KINDS.items()}


class Atom(NamedTuple):
    """One comparison. `positive` False is its negation."""

    kind: str
    """`is`, `more` (than a number or a term), `change`, `among`."""
    term: Term
    value: str | float | bool | Term
    positive: bool = True

    def words(self) -> str:
        """Return the comparison in English."""
        ref = self.term.ref
        if self.kind == "change":
            verb = "differs from" if self.positive else "equals"
            return f"the argument `{ref.name}` {verb} the `{ref.name}` of `{ref.of[0]}`"
        if self.kind == "among":
            argument = self.term.kind.removeprefix("among:")
            negation = "" if self.positive else "not "
            return f"the argument `{argument}` is {negation}among the `{ref.name}` of `{ref.of[0]}`"
        subject = _term_words(self.term)
        if self.kind == "is":
            return f"{subject} is {'' if self.positive else 'not '}`{_value_word(self.value)}`"
        verb = "more than" if self.positive else "at most"
        other = _term_words(self.value) if isinstance(self.value, Term) else number_word(self.value)
        return f"{subject} is {verb} {other}"

    def holds(self, features: Features) -> bool | None:
        """Say whether it holds for what is known; None where that is not enough to say."""
        known = features.get(self.term)
        if not known:
            return None
        if self.kind in {"change", "among"}:
            return any(known) is self.positive
        if isinstance(self.value, Term):
            bound = _numbers(features.get(self.value, ()))
            numbers = _numbers(known)
            return (max(numbers) > min(bound)) is self.positive if numbers and bound else None
        if self.kind == "is":
            return any(_same(v, self.value) for v in known) is self.positive
        numbers = _numbers(known)
        return (max(numbers) > float(self.value)) is self.positive if numbers else None


Condition = tuple[Atom, ...]


def condition_words(condition: Condition) -> str:
    """Return the condition in English."""
    return " and ".join(atom.words() for atom in condition)


def all_of(found: Iterable[bool | None]) -> bool | None:
    """Return whether all hold; one that fails decides, else one that is unknown leaves it open."""
    result: bool | None = True
    for one in found:
        if one is False:
            return False
        if one is None:
            result = None
    return result


def parse_condition(text: str) -> Condition | None:
    """Return the condition that a text states, or None."""
    atoms = [_parse_atom(part) for part in text.split(" and ")]
    found = tuple(a for a in atoms if a is not None)
    return found if found and len(found) == len(atoms) else None


def number_word(value: Scalar) -> str:
    """Return a number in its shortest form; whole ones up to ten as words, as in any prose."""
    number = float(value)
    return _WORDS[int(number)] if number in range(len(_WORDS)) else f"{number:.10g}"


def _parse_atom(text: str) -> Atom | None:
    for kind, pattern in _ATOMS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        g = match.groups()
        if kind == "change":
            same = g[0] == g[2]
            return (
                Atom("change", Term("change", Ref(g[0], (g[3],))), True, g[1] != "equals") if same else None
            )
        if kind == "among":
            return Atom("among", Term(f"among:{g[0]}", Ref(g[2], (g[3],))), True, not g[1])
        term = _read_term(g[:5])
        if kind == "is":
            return Atom("is", term, {"true": True, "false": False}.get(g[6], g[6]), not g[5])
        value = _read_number(g[6]) if kind == "number" else _read_term(g[6:])
        return Atom("more", term, value, g[5] == "more than")
    return None


def _read_number(word: str) -> float:
    return float(_WORDS.index(word)) if word in _WORDS else float(word)


def _read_term(groups: tuple[str | None, ...]) -> Term:
    kind, argument, name, middle, key = groups
    if argument:
        return Term(_KINDS[kind or ""], Ref(argument))
    return Term(_KINDS[kind or ""], Ref(name or "", (key or "", middle) if middle else (key or "",)))


def _term_words(term: Term) -> str:
    ref = term.ref
    if not ref.of:
        place = f"the argument `{ref.name}`"
    elif len(ref.of) == 1:
        place = f"the `{ref.name}` of `{ref.of[0]}`"
    else:
        place = f"the `{ref.name}` of the `{ref.of[1]}` of `{ref.of[0]}`"
    return _KIND_WORDS[term.kind] + place


def _value_word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(known: Scalar, wanted: object) -> bool:
    """Booleans are no numbers: `true` is not 1."""
    return known == wanted and isinstance(known, bool) == isinstance(wanted, bool)


def _numbers(values: tuple[Scalar, ...]) -> list[float]:
    return [v for v in values if isinstance(v, float)]
