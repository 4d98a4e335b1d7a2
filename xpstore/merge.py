"""Three-way merge of one experience file, without a model. Pure.

Front matter is merged by key, the body by section and statement. What one side changed wins; what both
changed differently is an overlap, and both versions are kept. REFUSED = no text may be written: the
sides contradict each other, one deleted what the other changed, each removed another copy of what both
still say, or front matter does not parse.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from xpstore import polarity
from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.markdown import Section, Statement, render
from xpstore.merge_front import PLACE, FrontMerge, merge_front
from xpstore.merge_order import Id, identify, weave
from xpstore.merge_statements import Entry, Outcome, Overlap, merge_section

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Entry", "MergePage", "MergeResult", "Overlap", "merge"]

_TOP = "\0"  # stands for the text above the first heading; no heading has a NUL
_USUAL = {"Situation": 0, "Approach": 1, "Reflect": 2}


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The merged file, what both sides changed, and what became of every change."""

    text: str | None
    """None = the file is deleted. Where refused, ours as it was."""
    overlaps: tuple[Overlap, ...]
    account: tuple[Entry, ...]
    verdict: Literal["PROVEN", "VERIFIED", "REFUSED"]
    """VERIFIED = a model or a person had a part in it, and the decision passed the checks (resolution.py)."""
    resolved_by: str = ""
    """Who decided what both sides had changed; empty where nothing overlapped, or nobody was asked."""


MergePage: TypeAlias = "Callable[[str | None, str | None, str | None, str], MergeResult]"
"""What merges base, ours and theirs of the page that the last argument names: `merge`, or a decision."""


def merge(base: str | None, ours: str | None, theirs: str | None, where: str = "") -> MergeResult:
    """Merge two versions of a file; None = no file. `where` names the file in what is reported."""
    if ours in (theirs, base) or theirs == base:
        return MergeResult(theirs if ours == base else ours, (), (), "PROVEN")
    if ours is None or theirs is None:
        overlap = Overlap("", *(() if text is None else (text,) for text in (base, ours, theirs)))
        return MergeResult(ours, (overlap,), (), "REFUSED")
    outcome = Outcome()
    try:
        docs = [Document.parse(text or "", where) for text in (base, ours, theirs)]
        front = merge_front(*(doc.source for doc in docs))
        sections = _merge_body(docs, outcome)
        text = _assemble(docs, front, sections)
        is_sound = _says(Document.parse(text, where).sections) == _says(sections)
    except DocumentError as error:
        entry = Entry(PLACE, where, "both", "changed", "dropped", error.message)
        return MergeResult(ours, (), (entry,), "REFUSED")
    outcome.overlaps[:0] = [Overlap(PLACE, *(((x,) if x else ()) for x in clash)) for clash in front.clashes]
    is_refused = outcome.is_refused or front.clashes or not is_sound or _contradicts(docs, sections, outcome)
    if is_refused or _loses(docs, sections, outcome):
        return MergeResult(ours, tuple(outcome.overlaps), tuple(outcome.account), "REFUSED")
    return MergeResult(text, tuple(outcome.overlaps), tuple(outcome.account), "PROVEN")


def _merge_body(docs: Sequence[Document], outcome: Outcome) -> list[Section]:
    ids = identify(
        *([(part.name if part.heading else _TOP, part.heading) for part in d.sections] for d in docs)
    )
    sides = [dict(zip(found, doc.sections, strict=True)) for found, doc in zip(ids, docs, strict=True)]
    _follow_renames(ids, sides)
    merged: list[Section] = []
    previous: Id | None = None
    for item in _section_order(ids):
        old = "" if item[0] == _TOP else item[0]
        b, o, t = (side.get(item, Section(old, "", "", (), ())) for side in sides)
        name = _pick(b.name, o.name, t.name)
        statements, gaps = merge_section(name, b, o, t, outcome)
        is_gone = item in sides[0] and not (item in sides[1] and item in sides[2])
        if not statements and (is_gone or item[0] == _TOP):
            continue
        heading = _pick(b.heading, o.heading or t.heading, t.heading or o.heading)
        lead = _lead(ids, sides, item, previous)
        merged.append(Section(name, heading, lead, statements, gaps))
        previous = item
    return merged


def _follow_renames(ids: list[list[Id]], sides: list[dict[Id, Section]]) -> None:
    """Give a renamed section the id it has in the base, so that the other side's edits reach it.

    It is renamed where a side has, for one of the base, another that shares at least half of the statements.
    The usual three are never renamed: their names say what their text is.
    """
    base = sides[0]
    for old in [item for item in base if item[0] not in {_TOP, *_USUAL}]:
        found = [old if old in side else _renamed(base, old, side) for side in sides[1:]]
        names = {item for item in found if item != old}
        new = names.pop() if len(names) == 1 else None
        if new is None or any(new in side and old in side for side in sides):
            continue
        for number in (1, 2):
            if new in sides[number]:
                sides[number][old] = sides[number].pop(new)
                ids[number] = [old if item == new else item for item in ids[number]]


def _renamed(base: Mapping[Id, Section], old: Id, side: Mapping[Id, Section]) -> Id | None:
    keys = {s.key for s in base[old].statements}
    for item, section in side.items():
        if item not in base and item[0] not in {_TOP, *_USUAL}:
            others = {s.key for s in section.statements}
            if keys and 2 * len(keys & others) >= max(len(keys), len(others)):
                return item
    return None


def _lead(
    ids: Sequence[Sequence[Id]], sides: Sequence[Mapping[Id, Section]], item: Id, previous: Id | None
) -> str:
    """Return the blank lines before a section: as where it already followed the one before it."""
    met: list[str | None] = []
    for found, side in zip(ids, sides, strict=True):
        before = dict(zip(found, [None, *found], strict=False))
        met.append(side[item].lead if item in before and before[item] == previous else None)
    base, ours, theirs = met
    if ours is not None and theirs is not None:
        return _pick(base or "", ours, theirs)
    one = ours if ours is not None else theirs
    if one is not None:
        return one
    lead = next(side[item].lead for side in sides[1:] if item in side)
    return lead or ("\n" if previous else "")


def _section_order(ids: Sequence[Sequence[Id]]) -> list[Id]:
    """Return the order of all sections.

    The usual three get their usual order where both sides have it, unless that moves a section past one that
    a side has before it: merging the result once more would move it back.
    """
    base, ours, theirs = ids
    order = weave([item for item in base if item in ours and item in theirs], ours, theirs)
    order.sort(key=lambda item: item[0] != _TOP)
    if any(_ranks(side) != sorted(_ranks(side)) for side in (ours, theirs)):
        return order
    placed: list[Id] = []
    for item in order:
        later = (n for n, other in enumerate(placed) if _rank(other) > _rank(item) >= 0)
        placed.insert(next(later, len(placed)), item)
    place = {item: at for at, item in enumerate(placed)}
    sides = [[place[item] for item in side if item in place] for side in (ours, theirs)]
    keeps = all(a < b for side in sides for a, b in pairwise(side))
    return placed if keeps else order


def _rank(item: Id) -> int:
    return _USUAL.get(item[0], -1)


def _ranks(ids: Sequence[Id]) -> list[int]:
    return [_rank(item) for item in ids if _rank(item) >= 0]


def _pick(base: str, ours: str, theirs: str) -> str:
    return theirs if ours == base else ours


def _assemble(docs: Sequence[Document], front: FrontMerge, sections: Sequence[Section]) -> str:
    base, ours, theirs = docs
    newline = _pick(base.newline, ours.newline, theirs.newline)
    body = render(sections) + _pick(base.tail, ours.tail, theirs.tail)
    has_end = [doc.body.endswith("\n") or not doc.body for doc in docs]
    if not (has_end[2] if has_end[1] == has_end[0] else has_end[1]):
        body = body.removesuffix("\n")
    mark = "\ufeff" if ours.source is not None and ours.text.startswith("\ufeff") else ""
    head = "" if front.source is None else f"{mark}---\n{front.source}---\n"
    return head.replace("\r\n", "\n").replace("\n", newline) + body.replace("\n", newline)


def _says(sections: Sequence[Section]) -> list[tuple[str, str, tuple[Statement, ...]]]:
    return [(part.name, part.heading, part.statements) for part in sections]


def _loses(docs: Sequence[Document], sections: Sequence[Section], outcome: Outcome) -> bool:
    """Report what both sides still say, each at another place, and removed where the other says it."""
    stays = {s.text for part in sections for s in part.statements}
    was, mine, yours = (dict.fromkeys(s.text for s in doc.statements()) for doc in docs)
    lost = [text for text in mine if text in yours and text not in stays]
    outcome.overlaps += [Overlap("", (text,) if text in was else (), (text,), (text,)) for text in lost]
    return bool(lost)


def _contradicts(docs: Sequence[Document], sections: Sequence[Section], outcome: Outcome) -> bool:
    """Report pairs of opposite commands that no side held by itself."""
    texts = [s.text for part in sections for s in part.statements]
    mine, yours = ({s.key for s in doc.statements()} for doc in docs[1:])
    found = False
    for first, second in polarity.contradictions(texts):
        pair = {Statement(first, "").key, Statement(second, "").key}
        if not (pair <= mine or pair <= yours):
            a, b = (first, second) if Statement(first, "").key in mine else (second, first)
            outcome.overlaps.append(Overlap("", (), (a,), (b,)))
            found = True
    return found
