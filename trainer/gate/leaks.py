"""Lessons that know what they must not: text of a case that decides, or that is only reported.

A lesson is learned from training cases. Where a new one quotes an id, a name or whole phrases that only a
gate or test case has, the figures of that case are worth nothing. Such a quotation is blatant. An amount or a
date may be a coincidence: it is named, and decides nothing. What training cases have too, what the pages
said before, and what many cases share is no quotation. Evidence lines below a lesson hold figures of their
own and are passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import candidate
from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.markdown import statement_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import Case
    from xpstore.location import Location

TEACHES = "train"
"""The suite that lessons may know."""
SHARED = 0.1
"""What more than this part of a suite's cases have is vocabulary; so is what three have."""
PHRASE = 8
"""Words in a row that nobody writes twice by chance."""
NAME = 4
"""The most words that a name has."""
SHOWN = 60
"""Characters of a lesson that a sentence shows."""

_WORD = re.compile(r"[^\W_]+(?:[-_'’.@][^\W_]+)*")  # noqa: RUF001  # the apostrophe of good typography
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONG_NUMBER = 6
_AMOUNT = 3
_ID = 4


@dataclass(frozen=True, slots=True)
class Leak:
    """One quotation."""

    page: str
    lesson: str
    mark: str
    """What is quoted."""
    kind: str
    suite: str
    case: str
    is_blatant: bool

    @property
    def sentence(self) -> str:
        """Say who quotes what."""
        lesson = self.lesson if len(self.lesson) <= SHOWN else f"{self.lesson[: SHOWN - 1]}…"
        return f"{self.page}: “{lesson}” quotes {self.kind} {self.mark!r} of {self.suite} case {self.case!r}"


@dataclass(frozen=True, slots=True)
class _Mark:
    """A piece of text that gives its origin away."""

    text: str
    kind: str
    is_blatant: bool = True


def find_leaks(
    location: Location, new: str, old: str, suites: Mapping[str, Sequence[Case]]
) -> tuple[Leak, ...]:
    """Return what the lessons that commit `new` adds to commit `old` quote of cases, the blatant first."""
    taught = {mark for case in suites.get(TEACHES, ()) for mark in _marks_of(case)}
    guarded = {name: _rare(cases) for name, cases in suites.items() if name != TEACHES}
    found = {
        Leak(page, lesson, mark.text, mark.kind, suite, rare[mark], mark.is_blatant)
        for page, lesson in new_lessons(location, new, old)
        for mark in {*_marks(lesson), *_names(lesson)} - taught
        for suite, rare in guarded.items()
        if mark in rare
    }
    if found:  # all pages are read only where there is anything to look for
        known = " ".join(_folded(page) for page in _pages(location, old).values())
        found = {leak for leak in found if f" {leak.mark} " not in f" {known} "}
    return tuple(sorted(found, key=lambda k: (not k.is_blatant, k.page, k.lesson, k.mark, k.suite)))


def new_lessons(location: Location, new: str, old: str) -> list[tuple[str, str]]:
    """Return page and text of every statement that is new in the pages that changed, without evidence.

    What only went from one of them to another is not new.
    """
    before, after = candidate.pages_at(location, old), candidate.pages_at(location, new)
    gone = {name: blob for name, blob in before.items() if after.get(name) != blob}
    known = {statement_key(text) for page in _texts(location, gone).values() for text in _lessons(page)}
    come = {name: blob for name, blob in after.items() if before.get(name) != blob}
    return [
        (name, " ".join(text.split()))
        for name, page in _texts(location, come).items()
        for text in _lessons(page)
        if statement_key(text) not in known
    ]


def _pages(location: Location, commit: str) -> dict[str, str]:
    return _texts(location, candidate.pages_at(location, commit))


def _texts(location: Location, blobs: Mapping[str, str]) -> dict[str, str]:
    return {name: location.repo.blob(blob).decode("utf-8", "replace") for name, blob in blobs.items()}


def _folded(text: str) -> str:
    return " ".join(_WORD.findall(text)).casefold()


def _lessons(page: str) -> list[str]:
    """Return the statements of a page and its description, each without figures."""
    try:
        document = Document.parse(page)
    except DocumentError:  # whatever it is, it may quote
        return [page]
    about = document.front.get("description")
    return [*(s.body for s in document.statements()), *([about] if isinstance(about, str) else [])]


def _rare(cases: Sequence[Case]) -> dict[_Mark, str]:
    """Return what only few cases have, and the name of the first of them."""
    owner: dict[_Mark, str] = {}
    count: Counter[_Mark] = Counter()
    for case in cases:
        for mark in set(_marks_of(case)):
            owner.setdefault(mark, case.name)
            count[mark] += 1
    most = max(2, int(SHARED * len(cases)))
    return {mark: name for mark, name in owner.items() if count[mark] <= most}


def _marks_of(case: Case) -> Iterator[_Mark]:
    yield from _marks(case.name)
    for text in _leaves(dict(case.input)):
        yield from _marks(text)
        if len(_WORD.findall(text)) <= NAME:  # a name stands by itself in a case, and anywhere in a lesson
            yield from _names(text)


def _leaves(value: JsonValue) -> Iterator[str]:
    """Yield every text and number in a JSON value."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield str(value)


def _marks(text: str) -> Iterator[_Mark]:
    """Yield what a text has that others can be recognised by."""
    words = _WORD.findall(text)
    folded = [word.casefold() for word in words]
    for word, key in zip(words, folded, strict=True):
        if _DATE.fullmatch(word):
            yield _Mark(key, "the date", is_blatant=False)
        elif word.isdecimal():
            if len(word) >= _AMOUNT:
                yield _Mark(key, "the number", is_blatant=len(word) >= _LONG_NUMBER)
        elif "@" in word or (len(word) >= _ID and any(c.isdigit() for c in word)):
            yield _Mark(key, "the id")
    for at in range(len(folded) - PHRASE + 1):
        yield _Mark(" ".join(folded[at : at + PHRASE]), "the words")


def _names(text: str) -> Iterator[_Mark]:
    """Yield every two to four words in a row that are written as names are."""
    words = _WORD.findall(text)
    for size in range(2, NAME + 1):
        for at in range(len(words) - size + 1):
            some = words[at : at + size]
            if all(word[0].isupper() and not any(c.isdigit() for c in word) for word in some):
                yield _Mark(" ".join(some).casefold(), "the name")
