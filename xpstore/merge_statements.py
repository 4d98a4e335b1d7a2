"""Three-way merge of the statements of one section."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from xpstore.markdown import Section, Statement, usual_gap
from xpstore.merge_order import Id, identify, weave

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Change = Literal["added", "changed", "removed"]
Fate = Literal["kept", "merged", "superseded", "dropped"]
_NUMBER = re.compile(r"[ \t]*\d{1,9}[.)](?=[ \t])")


@dataclass(frozen=True, slots=True)
class Overlap:
    """What both sides changed: the Markdown of base, ours and theirs, empty where there is none."""

    section: str
    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one statement (or front matter key) that a side added, changed or removed."""

    section: str
    text: str
    side: Literal["ours", "theirs", "both"]
    change: Change
    fate: Fate
    reason: str = ""
    into: str = ""
    """The statement of the result that says it (merged) or that replaces it (superseded)."""
    number: int = 0
    """Of a statement that somebody decided on (conflict.py); 0 = a rule did."""


@dataclass(slots=True)
class Outcome:
    """Collects what a merge has to say while it goes through a file."""

    overlaps: list[Overlap] = field(default_factory=list)
    account: list[Entry] = field(default_factory=list)
    is_refused: bool = False


@dataclass(slots=True)
class _Side:
    """One version of the section: ids in order, statements by id, blank lines before each."""

    ids: list[Id]
    statements: dict[Id, Statement]
    gaps: dict[Id, str]
    before: dict[Id, Id | None]

    @classmethod
    def of(cls, section: Section, ids: list[Id]) -> _Side:
        statements = dict(zip(ids, section.statements, strict=True))
        gaps = dict(zip(ids, section.gaps, strict=True))
        previous: list[Id | None] = [None, *ids]
        return cls(ids, statements, gaps, dict(zip(ids, previous, strict=False)))

    def text(self, item: Id) -> str:
        """Return the statement's Markdown; empty where this side has none (no statement is empty)."""
        return self.statements[item].text if item in self.statements else ""


def merge_section(
    name: str, base: Section, ours: Section, theirs: Section, outcome: Outcome
) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    """Return the merged statements and the blank lines before each; overlaps and account go to `outcome`."""
    sections = (base, ours, theirs)
    ids = identify(*([(s.key, s.text) for s in section.statements] for section in sections))
    b, o, t = (_Side.of(section, found) for section, found in zip(sections, ids, strict=True))
    merged: dict[Id, tuple[str, ...]] = {}
    for item in dict.fromkeys([*b.ids, *o.ids, *t.ids]):
        merged[item] = _merge_one(name, b.text(item), o.text(item), t.text(item), outcome)
    _report_rewordings(name, b, o, t, outcome)
    copies = _copies(name, b, o, t, outcome)
    order = [item for item in weave(b.ids, o.ids, t.ids) if item not in copies]
    return _written(name, order, merged, (o, t, b))


def _copies(name: str, b: _Side, o: _Side, t: _Side, outcome: Outcome) -> set[Id]:
    """Return additions that only repeat what the other side removed; refuse those that reword it."""
    added = [(item, t) for item in o.ids if item not in b.statements and item not in t.statements]
    added += [(item, o) for item in t.ids if item not in b.statements and item not in o.statements]
    copies: set[Id] = set()
    for item, other in added:
        text = o.text(item) or t.text(item)
        if any(b.text(i) == text and other.text(i) != text for i in b.ids):
            copies.add(item)  # word for word what the other side removed or changed
            continue
        removed = tuple(b.text(i) for i in b.ids if i[0] == item[0] and i not in other.statements)
        if removed:  # the other side removed this statement, this side says it in other words
            outcome.overlaps.append(Overlap(name, removed, _some(o.text(item)), _some(t.text(item))))
            outcome.is_refused = True
    return copies


def _written(
    name: str, order: Sequence[Id], merged: Mapping[Id, tuple[str, ...]], sides: tuple[_Side, _Side, _Side]
) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    """Lay the merged texts out; no text stands there more often than in the side that has it most often."""
    firsts = {merged[item][0] for item in order}
    counts = [Counter(statement.text for statement in side.statements.values()) for side in sides[:2]]
    texts: list[str] = []
    gaps: list[str] = []
    previous: Id | None = None
    for item in order:
        for position, text in enumerate(merged[item]):
            is_extra = position > 0
            if texts.count(text) >= max(1, *(count[text] for count in counts)) or (
                is_extra and text in firsts
            ):
                continue
            above = texts[-1] if texts else ""
            gaps.append(usual_gap(above, text) if is_extra else _gap(item, previous, above, sides, text))
            texts.append(text)
        previous = item
    return tuple(Statement(text, name) for text in texts), tuple(gaps)


def _merge_one(name: str, base: str, ours: str, theirs: str, outcome: Outcome) -> tuple[str, ...]:
    """Return the merged text, or both texts of an overlap; nothing where the statement goes."""
    if ours == theirs:
        if ours != base:
            outcome.account.append(Entry(name, ours or base, "both", _change(base, ours), "kept"))
        return (ours,) if ours else ()
    if base in (ours, theirs):
        side: Literal["ours", "theirs"] = "theirs" if ours == base else "ours"
        text = theirs if ours == base else ours
        outcome.account.append(Entry(name, text or base, side, _change(base, text), "kept"))
        return (text,) if text else ()
    if base and not (ours and theirs):
        return _removed_and_changed(name, base, ours, theirs, outcome)
    return _changed_twice(name, base, ours, theirs, outcome)


def _change(base: str, text: str) -> Change:
    if not base:
        return "added"
    return "changed" if text else "removed"


def _removed_and_changed(name: str, base: str, ours: str, theirs: str, outcome: Outcome) -> tuple[str, ...]:
    left: Literal["ours", "theirs"] = "ours" if ours else "theirs"
    if Statement(ours or theirs, name).body == Statement(base, name).body:
        reason = "the other side removed the statement; only its figures had changed"
        outcome.account.append(Entry(name, ours or theirs, left, "changed", "dropped", reason))
        return ()
    outcome.overlaps.append(Overlap(name, (base,), _some(ours), _some(theirs)))
    outcome.is_refused = True
    return ()


def _changed_twice(name: str, base: str, ours: str, theirs: str, outcome: Outcome) -> tuple[str, ...]:
    was, mine, yours = (Statement(text, name) for text in (base, ours, theirs))
    if _unnumbered(ours) == _unnumbered(theirs):
        outcome.account.append(Entry(name, ours, "both", _change(base, ours), "kept"))
        return (ours,)
    if _unnumbered(mine.body) == _unnumbered(yours.body) or _unnumbered(mine.body) == _unnumbered(was.body):
        body = yours.body if mine.body == was.body else mine.body
    elif _unnumbered(yours.body) == _unnumbered(was.body):
        body = mine.body
    else:
        outcome.overlaps.append(Overlap(name, _some(base), (ours,), (theirs,)))
        reason = "both sides changed it; both versions stay"
        outcome.account.append(Entry(name, ours, "ours", _change(base, ours), "kept", reason))
        outcome.account.append(Entry(name, theirs, "theirs", _change(base, theirs), "kept", reason))
        return (ours, theirs)
    figures = _merged_figures(was.evidence, mine.evidence, yours.evidence)
    if mine.evidence not in (was.evidence, yours.evidence) and yours.evidence != was.evidence:
        outcome.overlaps.append(Overlap(name, _some(base), (ours,), (theirs,)))
    outcome.account.append(Entry(name, ours, "both", _change(base, ours), "merged"))
    return ("\n".join([body, *figures]),)


def _merged_figures(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Sequence[str]:
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    kept = {line for line in (*ours, *theirs) if (line in ours and line in theirs) or line not in base}
    return sorted(kept, key=lambda line: (not line.lstrip().startswith("*Support"), line))


def _unnumbered(text: str) -> str:
    return _NUMBER.sub("1.", text, count=1)


def _some(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _report_rewordings(name: str, base: _Side, ours: _Side, theirs: _Side, outcome: Outcome) -> None:
    """Report where both sides put other statements in the place of the same ones; all of them are kept."""
    shared = ours.statements.keys() & theirs.statements.keys()
    gone = _by_anchor(
        base, shared, [i for i in base.ids if i not in ours.statements and i not in theirs.statements]
    )
    mine = _by_anchor(ours, shared, [i for i in ours.ids if i not in base.statements and i not in shared])
    yours = _by_anchor(
        theirs, shared, [i for i in theirs.ids if i not in base.statements and i not in shared]
    )
    for anchor, texts in gone.items():
        if anchor in mine and anchor in yours:
            outcome.overlaps.append(Overlap(name, tuple(texts), tuple(mine[anchor]), tuple(yours[anchor])))


def _by_anchor(side: _Side, shared: set[Id], wanted: list[Id]) -> Mapping[Id | None, list[str]]:
    """Group the texts of the wanted statements by the last shared one before them."""
    groups: dict[Id | None, list[str]] = {}
    anchor: Id | None = None
    for item in side.ids:
        if item in shared:
            anchor = item
        elif item in wanted:
            groups.setdefault(anchor, []).append(side.text(item))
    return groups


def _gap(item: Id, previous: Id | None, above: str, sides: tuple[_Side, _Side, _Side], text: str) -> str:
    """Return the blank lines between two statements: as where they already met, else as usual."""
    usual = usual_gap(above, text)
    for side in sides:
        if item in side.before and side.before[item] == previous:
            is_alike = previous is None or usual_gap(side.text(previous), side.text(item)) == usual
            if is_alike:  # neither became a paragraph or a list item
                return side.gaps[item]
    if previous is None:
        return next(side.gaps[side.ids[0]] for side in sides if side.ids)
    for side in sides:
        neighbour = side.before.get(item)
        if neighbour and side.gaps[item] != usual_gap(side.text(neighbour), text):
            return max(side.gaps[item], usual, key=len)  # the writer of this side had a reason
    return usual
