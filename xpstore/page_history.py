"""What became of one page, over all its names and branches: who wrote a line, and who brought a statement.

A commit that undoes another writes nothing: what it brings back was written by whoever wrote it before. A
plan that puts a statement into other words goes on with the statement, it does not begin one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from xpstore import events, frontmatter, history, recognise, timeline
from xpstore.errors import DocumentError
from xpstore.markdown import Statement, parse_body
from xpstore.wording import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xpstore.events import Change, Entry
    from xpstore.location import Location

ALIKE = 0.5
"""Share of the terms, in order, that two statements have in common where one is the other reworded."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement, and its lines in the file: numbers from 1, the last one included."""

    first: int
    last: int
    statement: Statement


def placed(text: str) -> list[Placed]:
    """Return the statements of a file in order, also where its front matter does not parse."""
    try:
        _, body = frontmatter.split(text)
    except DocumentError:
        body = text
    found: list[Placed] = []
    at = text[: len(text) - len(body)].count("\n") + 1
    sections, _ = parse_body([line.removesuffix("\r") for line in body.removesuffix("\n").split("\n")])
    for section in sections:
        at += section.lead.count("\n") + (section.heading.count("\n") + 1 if section.heading else 0)
        for gap, statement in zip(section.gaps, section.statements, strict=True):
            at += gap.count("\n")
            height = statement.text.count("\n") + 1
            found.append(Placed(at, at + height - 1, statement))
            at += height
    return found


@dataclass(frozen=True, slots=True)
class _Version:
    """The file at one time."""

    lines: frozenset[str]
    statements: Mapping[str, Statement]
    """By key."""


@dataclass(frozen=True, slots=True)
class _Writing:
    """What a commit did to the statements; all by key."""

    entry: Entry
    before: Mapping[str, Statement]
    after: Mapping[str, Statement]
    written: Mapping[str, Statement]
    """Those that it added, or gave another text."""


@dataclass(slots=True)
class PageHistory:
    """The commits that changed a page."""

    loc: Location
    tip: str
    entries: list[Entry]
    """Newest first; a parent never comes before its child."""
    names: frozenset[str]
    """All names of the page."""
    _versions: dict[str, _Version] = field(default_factory=dict)
    _known: dict[str, Entry] = field(default_factory=dict)
    _keys: dict[str, str] = field(default_factory=dict)
    """Text of a statement → its key."""
    _writings: list[_Writing] | None = None

    @classmethod
    def read(cls, loc: Location, tip: str, name: str) -> PageHistory:
        """Read the history of the page that has this name at a commit, merged sides included."""
        found = history.of_experience(loc, tip, name, options=("--topo-order",))
        names = {name}
        for entry in found:
            names |= {c.old_name for c in entry.changes if c.kind == "R" and c.name in names}
        return cls(loc, tip, recognise.recognised(loc, found, tip=tip), frozenset(names))

    def entry(self, commit: str) -> Entry:
        """Return a commit of the history with its plans, a merge with its side."""
        if not self._known:
            self._known.update({entry.commit: entry for entry in self.entries})
        found = self._known.get(commit)
        if found is None:  # git took a file from elsewhere for an earlier name of the page
            found = recognise.recognised(self.loc, [events.any_entry(self.loc, commit)], tip=self.tip)[0]
        if len(found.parents) > 1 and not found.merged:
            found = events.with_side(self.loc, found)
        self._known[commit] = found
        return found

    def writer(self, line: str, restored: Entry) -> Entry:
        """Return who wrote a line that an undoing commit brought back; that commit where nobody did."""
        for entry, change in self._older(restored):
            if line in self._version(change.after).lines and line not in self._version(change.before).lines:
                return self.entry(entry.commit)
        return restored

    def wordings(self, statement: Statement) -> Iterator[tuple[Entry, str]]:
        """Yield who wrote a statement of the tip, and in which words, newest first.

        The last one brought it. The others gave it new figures, or put it into other words.
        """
        if self._writings is None:
            self._writings = [self._writing(entry, change) for entry, change in self._older(None)]
        key = statement.key
        for writing in self._writings:
            new = writing.written.get(key)
            if new is None:
                continue
            yield self.entry(writing.entry.commit), new.text
            if key not in writing.before:
                key = _reworded(new, writing.before, writing.after)
                if not key:
                    return

    def _writing(self, entry: Entry, change: Change) -> _Writing:
        before, after = (self._version(blob).statements for blob in (change.before, change.after))
        written = {key: s for key, s in after.items() if key not in before or before[key].text != s.text}
        return _Writing(entry, before, after, written)

    def _older(self, than: Entry | None) -> Iterator[tuple[Entry, Change]]:
        """Yield the writing commits after one, or all, each with what it did to the page."""
        started = than is None
        for entry in self.entries:
            if started and len(entry.parents) < 2 and not timeline.undoes(entry):
                yield from ((entry, change) for change in entry.changes if change.name in self.names)
            started = started or (than is not None and entry.commit == than.commit)

    def _version(self, blob: str) -> _Version:
        found = self._versions.get(blob)
        if found is None:
            text = self.loc.repo.blob(blob).decode("utf-8", "replace") if blob else ""
            statements = {self._key(p.statement): p.statement for p in placed(text)}
            lines = text.replace("\r\n", "\n").split("\n") if blob else ()
            found = self._versions[blob] = _Version(frozenset(lines), statements)
        return found

    def _key(self, statement: Statement) -> str:
        """Return its key; versions have most of their statements in common."""
        if statement.text not in self._keys:
            self._keys[statement.text] = statement.key
        return self._keys[statement.text]


def _reworded(new: Statement, before: Mapping[str, Statement], after: Mapping[str, Statement]) -> str:
    """Return the key of the statement that a commit replaced by a new one alike; "" for none."""
    wanted = terms(new.key)
    best, share = "", ALIKE
    for key, old in before.items():
        if key in after or old.section != new.section:
            continue
        ratio = SequenceMatcher(None, terms(key), wanted, autojunk=False).ratio()
        if ratio >= share:
            best, share = key, ratio
    return best
