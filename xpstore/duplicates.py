"""Two experiences that say the same under two names: found when one is planned, and when one lands.

Compared are statements, without their figures. Two say the same where

* their words overlap: J(A, B) = |A ∩ B| / (|A| + |B| - |A ∩ B|) is at least the threshold, A and B being the
  sets of content words (pairs of characters for scripts without spaces): the resemblance of A. Broder, "On
  the resemblance and containment of documents", 1997, on words;
* they name the same numbers, ids, paths and code: one number less is another condition;
* neither negates what the other affirms: then they contradict each other, and that is reported as such.

A new page says what another one says where that one has, by number of words, a share of its statements that
reaches the threshold. Short statements say too little to be compared: "Ask first." is right on many pages.

A statement is compared only with those of the few pages that a full-text index finds for it, so the effort
grows with what is added, not with the store.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, Self

from xpstore import polarity, search
from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.experience import Experience
from xpstore.fidelity import content, lost_negation, names
from xpstore.settings import DuplicateSettings
from xpstore.wording import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Kind = Literal["page", "statement", "contradiction"]
NEAREST = 5
"""How many pages the index is asked for, for each statement."""
WORDS = 4
"""Content words, or pairs of characters; a statement with fewer is not compared."""
DEFAULT = DuplicateSettings()
_LETTERS = re.compile(f"[{UNSPACED}]+")


class Pages(Protocol):
    """Where pages are looked up: a PageIndex, or a Shelf."""

    def search(self, query: str, limit: int) -> list[tuple[Experience, float]]:
        """Return the pages that fit best, and how well."""
        ...


class Shelf:
    """Pages in memory, by name, to be used in a `with` block; only what is found is read."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._index = search.Index.of(search.Document(name, text) for name, text in texts.items())

    def search(self, query: str, limit: int) -> list[tuple[Experience, float]]:
        """Return the pages that fit best, and how well."""
        hits = self._index.rank(query, limit)
        return [(Experience(name=hit.name, text=self._texts[hit.name]), hit.score) for hit in hits]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self._index.__exit__(*args)


@dataclass(frozen=True, slots=True)
class Change:
    """A page before and after; None = no page."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """What a change says, and another page says too, or says the opposite of."""

    kind: Kind
    page: str
    """The changed page."""
    other: str
    text: str = ""
    """The statement; empty for a whole page."""
    other_text: str = ""
    similarity: float = 1.0
    """J of the two statements; of a page, the share of it that the other one has. 0 to 1."""

    @property
    def sentence(self) -> str:
        """What to tell a person."""
        if self.kind == "page":
            return f"{self.page} says what {self.other} says already ({self.similarity:.0%} of it)"
        verb = "contradicts" if self.kind == "contradiction" else "says the same as"
        return f"{self.page} {verb} {self.other}: {_short(self.text)} / {_short(self.other_text)}"


def find(
    changes: Mapping[str, Change], pages: Iterable[Pages], settings: DuplicateSettings = DEFAULT
) -> tuple[Duplicate, ...]:
    """Return what the changes say that other pages say already, pages first.

    `pages` are looked up in; of a page that is among the changes, the changed text counts, so that two new
    pages are compared as well where an index of the new ones is among `pages`.
    """
    search = _Search(changes, tuple(pages), settings.threshold)
    found = [one for name in changes for one in search.of(name)]
    once: dict[tuple[Kind, frozenset[tuple[str, str]]], Duplicate] = {}
    for one in found:  # of two new pages, each has found the other
        once.setdefault((one.kind, frozenset({(one.page, one.text), (one.other, one.other_text)})), one)
    return tuple(sorted(once.values(), key=lambda one: one.kind != "page"))


@dataclass(frozen=True, slots=True)
class Said:
    """A statement as it is compared."""

    text: str
    """Without figures."""
    words: frozenset[str]
    facts: frozenset[str]
    """Numbers, ids, paths and code."""
    command: polarity.Command

    @classmethod
    def of(cls, text: str) -> Said:
        """Return a statement's Markdown as it is compared."""
        facts = names(_LETTERS.sub(" ", text))  # a number among letters without spaces stands for itself
        return cls(text, content(text), facts, polarity.command(text))


def similarity(one: Said, other: Said) -> float:
    """Return J of two statements; 0 where they name other numbers, ids, paths or code."""
    if one.facts != other.facts or not one.words:
        return 0.0
    return len(one.words & other.words) / len(one.words | other.words)


@dataclass
class _Search:
    """One search: what was read and cut into words once is not read again."""

    changes: Mapping[str, Change]
    indexes: tuple[Pages, ...]
    threshold: float
    _pages: dict[str, tuple[Said, ...]] = field(default_factory=dict)
    """By text."""

    def of(self, name: str) -> list[Duplicate]:
        """Return what one page says that others say too."""
        change = self.changes[name]
        known = {said.text for said in self._said(change.before)}
        added = [said for said in self._said(change.after) if said.text not in known]
        met = list(self._opposed(name, added, change.after))
        for one in added:
            if len(one.words) < WORDS:
                continue
            for other, text in self._near(name, one):
                close = [d for two in self._said(text) if (d := self.compared(name, one, other, two))]
                met += [max(close, key=lambda d: d.similarity)] if close else []
        whole = self._whole(name, added, met) if change.before is None else []
        covered = {one.other for one in whole}
        return [*whole, *(d for d in met if d.kind != "statement" or d.other not in covered)]

    def _opposed(self, name: str, added: Iterable[Said], text: str | None) -> Iterator[Duplicate]:
        """Yield what the same page commands to the contrary of what is added."""
        said, new = {one.text: one for one in self._said(text)}, {one.text for one in added}
        for pair in polarity.contradictions(said):
            one, two = sorted((said[text] for text in pair), key=lambda s: s.text not in new)
            if one.text in new:
                share = round(similarity(one, two), 3)
                yield Duplicate("contradiction", name, name, one.text, two.text, share)

    def compared(self, name: str, one: Said, other: str, two: Said) -> Duplicate | None:
        """Return what two statements have in common; None where that is too little."""
        share = similarity(one, two)
        is_opposite = polarity.contradict(one.command, two.command)
        if share < self.threshold and not is_opposite:
            return None
        if not is_opposite:
            is_opposite = bool(lost_negation(one.text, two.text) or lost_negation(two.text, one.text))
        kind: Kind = "contradiction" if is_opposite else "statement"
        return Duplicate(kind, name, other, one.text, two.text, round(share, 3))

    def _near(self, name: str, one: Said) -> Iterator[tuple[str, str]]:
        """Yield the other pages that are most like a statement, each once, as they will be."""
        seen = {name}
        for index in self.indexes:
            for page, _ in index.search(one.text, NEAREST):
                if page.name in seen:
                    continue
                seen.add(page.name)
                text = self.changes[page.name].after if page.name in self.changes else page.text
                if text is not None:
                    yield page.name, text

    def _whole(self, name: str, added: Iterable[Said], met: Iterable[Duplicate]) -> list[Duplicate]:
        """Return the pages that have most of a new one."""
        sizes = {said.text: len(said.words) for said in added}
        total = sum(sizes.values())
        shares: dict[str, int] = {}
        for one in met:
            if one.kind == "statement":
                shares[one.other] = shares.get(one.other, 0) + sizes[one.text]
        return [
            Duplicate("page", name, other, similarity=round(share / total, 3))
            for other, share in shares.items()
            if share >= self.threshold * total
        ]

    def _said(self, text: str | None) -> tuple[Said, ...]:
        if text is None:
            return ()
        if text not in self._pages:
            try:
                doc = Document.parse(text)
            except DocumentError:  # a page of a person; its body is compared
                doc = Document.parse(f"\n{text}")
            self._pages[text] = tuple(Said.of(statement.body) for statement in doc.statements())
        return self._pages[text]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= 70 else line[:69] + "…"}"'
