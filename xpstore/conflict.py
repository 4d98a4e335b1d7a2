"""A merge that needs a decision: what both sides changed, as numbered statements. Pure.

The file around the hunks is the mechanical merge without them, so an answer can neither change it nor
depend on it. Whatever is decided goes in where ours stood, or theirs where ours has nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from xpstore import frontmatter
from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.fidelity import names
from xpstore.markdown import Section, Statement, parse_body, render, usual_gap
from xpstore.merge import MergeResult, merge
from xpstore.merge_front import PLACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.merge_statements import Overlap

Side = Literal["base", "ours", "theirs"]
SIDES: tuple[Side, Side, Side] = ("base", "ours", "theirs")
_HOLE = "\ue000"  # private use: no text of an experience has it, invisible text is refused


@dataclass(frozen=True, slots=True)
class Numbered:
    """A statement of a hunk. `sides` says which versions have it, word for word."""

    number: int
    """Counts from 1 over all hunks of a conflict."""
    section: str
    text: str
    sides: frozenset[str]
    """`base` and the names of the versions."""

    @property
    def is_added(self) -> bool:
        """Whether the base does not have it."""
        return "base" not in self.sides


@dataclass(frozen=True, slots=True)
class Hunk:
    """What both sides changed at one place. In front matter a "statement" is the YAML lines of a key."""

    section: str
    """Where the decision goes; the pseudo-section PLACE for front matter."""
    statements: tuple[Numbered, ...]
    versions: tuple[str, ...] = SIDES[1:]
    """What was made of the base: ours and theirs; where many edits are merged, each of them."""

    @property
    def is_front_matter(self) -> bool:
        """Whether the decision is YAML."""
        return self.section == PLACE

    def of(self, side: str) -> tuple[Numbered, ...]:
        """Return the statements that one version, or the base, has."""
        return tuple(s for s in self.statements if side in s.sides)

    def kept_by_all(self, statement: Numbered) -> bool:
        """Return whether the base has a statement, and no version took it out."""
        return {"base", *self.versions} <= statement.sides


@dataclass(frozen=True)
class Conflict:
    """Three versions of a file and the hunks that need a decision."""

    base: str | None
    ours: str
    theirs: str
    hunks: tuple[Hunk, ...]
    where: str = ""

    def assemble(self, decisions: Sequence[Sequence[str]]) -> MergeResult:
        """Return the file with these statements in place of each hunk; REFUSED where that is no sound file.

        Raises DocumentError where the front matter would not parse.
        """
        base = None if self.base is None else self._with("base", decisions)
        ours, theirs = self._with("ours", decisions), self._with("theirs", decisions)
        return merge(base, ours, theirs, self.where)

    @cached_property
    def _holed(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The lines of the file with a marked one per hunk, and where; empty where that is no sound file."""
        marks = [f"{_HOLE}{n}{_HOLE}" for n in range(len(self.hunks))]
        holes = [[_hole(hunk, mark)] for hunk, mark in zip(self.hunks, marks, strict=True)]
        result = self.assemble(holes)
        lines = lines_of(result.text or "")
        places = [next((i for i, line in enumerate(lines) if mark in line), -1) for mark in marks]
        return ((), ()) if result.verdict == "REFUSED" or -1 in places else (tuple(lines), tuple(places))

    @cached_property
    def frame(self) -> tuple[tuple[str, ...], ...]:
        """The lines between the hunks, from the start of the file to its end; blank lines at a hunk left out.

        Empty where the file around the hunks does not merge by itself.
        """
        lines, places = self._holed
        ends = sorted(places)
        cuts = zip([-1, *ends], [*ends, len(lines)], strict=True)
        return tuple(trimmed(lines[start + 1 : end]) for start, end in cuts) if lines else ()

    @property
    def order(self) -> tuple[int, ...]:
        """The indices of the hunks as they follow each other in the file."""
        places = self._holed[1]
        return tuple(sorted(range(len(places)), key=lambda n: places[n]))

    def decided(self, text: str) -> list[tuple[str, ...]] | None:
        """Return the lines that stand in place of each hunk; None where the text around them is another."""
        if not self.frame:
            return None
        lines = lines_of(text)
        first, *rest = self.frame
        if tuple(lines[: len(first)]) != first:
            return None
        at = len(first)
        found: list[tuple[str, ...]] = [()] * len(self.hunks)
        for place, piece in zip(self.order, rest, strict=True):
            is_last = piece is rest[-1]
            end = _find(lines, piece, at, is_last=is_last)
            if end is None:
                return None
            found[place] = trimmed(lines[at:end])
            at = end + len(piece)
        return found if not trimmed(lines[at:]) else None

    @cached_property
    def documents(self) -> Mapping[Side, Document]:
        """The three versions, parsed; an empty document where there is no base."""
        texts = (self.base or "", self.ours, self.theirs)
        return {side: Document.parse(text, self.where) for side, text in zip(SIDES, texts, strict=True)}

    @cached_property
    def names(self) -> frozenset[str]:
        """Numbers, ids, code, paths and URLs that any version has."""
        return frozenset(name for doc in self.documents.values() for name in names(doc.body))

    def _with(self, side: Side, decisions: Sequence[Sequence[str]]) -> str:
        removed: Counter[tuple[str, str]] = Counter()
        placed: dict[tuple[str, str], Sequence[str]] = {}
        for hunk, decision in zip(self.hunks, decisions, strict=True):
            mine = hunk.of(side)
            home: Side = "ours" if hunk.of("ours") else "theirs"
            if mine and side == home:
                placed[mine[0].section, mine[0].text] = decision
            removed.update((s.section, s.text) for s in mine)
        return _edited(self.documents[side], removed, placed)


def find_conflict(
    base: str | None, ours: str | None, theirs: str | None, result: MergeResult, where: str = ""
) -> Conflict | None:
    """Return what is to be decided in a merge with overlaps; None where it cannot be put as hunks.

    That is where one side deleted the file, or nothing overlaps. Raises DocumentError where a version does
    not parse.
    """
    if ours is None or theirs is None or not result.overlaps:
        return None
    docs = dict(zip(SIDES, (Document.parse(text or "", where) for text in (base, ours, theirs)), strict=True))
    hunks: list[Hunk] = []
    number = 1
    for group in _grouped(result.overlaps):
        statements: dict[tuple[str, str], set[Side]] = {}
        for overlap in group:
            for side, texts in zip(SIDES, (overlap.base, overlap.ours, overlap.theirs), strict=True):
                for text in texts:
                    section = _section_of(docs[side], overlap.section, text)
                    statements.setdefault((section, text), set()).add(side)
        numbered = tuple(
            Numbered(number + i, section, text, frozenset(sides))
            for i, ((section, text), sides) in enumerate(statements.items())
        )
        number += len(numbered)
        home = next((s for side in SIDES[1:] for s in numbered if side in s.sides), None)
        if home is None:
            return None
        hunks.append(Hunk(home.section, numbered))
    return Conflict(base, ours, theirs, tuple(hunks), where)


def question(
    base: str | None, ours: str | None, theirs: str | None, result: MergeResult, where: str = ""
) -> Conflict | None:
    """Return the conflict of a merge; None where there are no hunks: then people decide by file."""
    try:
        conflict = find_conflict(base, ours, theirs, result, where)
        has_frame = conflict is not None and bool(conflict.frame)
    except DocumentError:
        return None  # the merge's own account says what does not parse
    return conflict if has_frame else None


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, whatever its line ends."""
    return text.replace("\r\n", "\n").split("\n")


def trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without the blank ones at both ends."""
    filled = [i for i, line in enumerate(lines) if line.strip()]
    return tuple(lines[filled[0] : filled[-1] + 1]) if filled else ()


def _grouped(overlaps: Iterable[Overlap]) -> list[list[Overlap]]:
    """Join overlaps that share a statement: two decisions about one statement could not both be had."""
    groups: list[tuple[set[tuple[Side, str]], list[Overlap]]] = []
    for overlap in overlaps:
        sides = zip(SIDES, (overlap.base, overlap.ours, overlap.theirs), strict=True)
        keys: set[tuple[Side, str]] = {(side, text) for side, texts in sides for text in texts}
        joined = [overlap]
        for group in [g for g in groups if g[0] & keys]:
            keys |= group[0]
            joined = [*group[1], *joined]
            groups.remove(group)
        groups.append((keys, joined))
    return [group for _, group in groups]


def _section_of(doc: Document, section: str, text: str) -> str:
    """Return the section that has the statement; contradictions name none, for they may cross sections."""
    if section == PLACE:
        return section
    found = [s.section for s in doc.statements() if s.text == text]
    return section if section in found or not found else found[0]


def _hole(hunk: Hunk, mark: str) -> str:
    if hunk.is_front_matter:
        return f'"{mark}": 0\n'
    is_item = bool(usual_gap("- a", hunk.statements[-1].text)) is False
    return f"- {mark}" if is_item else mark


def _edited(
    doc: Document, removed: Counter[tuple[str, str]], placed: dict[tuple[str, str], Sequence[str]]
) -> str:
    head = doc.text[: len(doc.text) - len(doc.body)]
    found = frontmatter.locate(doc.text)
    if found is not None:
        start, end, _ = found
        source = doc.text[start:end]
        for place, chunk in [key for key in removed if key[0] == PLACE]:
            source = source.replace(chunk, "".join(placed.get((place, chunk), ())), 1)
        head = doc.text[:start] + source + doc.text[end : len(doc.text) - len(doc.body)]
    left = Counter(removed)
    sections = [_section(part, left, placed) for part in doc.sections]
    body = render(sections) + doc.tail
    if not doc.body.endswith("\n"):
        body = body.removesuffix("\n")
    return head + body.replace("\n", doc.newline)


def _section(
    part: Section, left: Counter[tuple[str, str]], placed: dict[tuple[str, str], Sequence[str]]
) -> Section:
    statements: list[Statement] = []
    gaps: list[str] = []
    for gap, statement in zip(part.gaps, part.statements, strict=True):
        key = (part.name, statement.text)
        texts: Sequence[str] = [statement.text]
        if left[key]:
            left[key] -= 1
            texts = placed.get(key, ())
        for n, text in enumerate(texts):
            gaps.append(gap if n == 0 or not statements else usual_gap(statements[-1].text, text))
            statements.append(Statement(text, part.name))
    return Section(part.name, part.heading, part.lead, tuple(statements), tuple(gaps))


def _find(lines: Sequence[str], piece: tuple[str, ...], at: int, *, is_last: bool) -> int | None:
    if is_last:
        while len(lines) > at and not lines[-1].strip():
            lines = lines[:-1]
        end = len(lines) - len(piece)
        return end if end >= at and tuple(lines[end:]) == piece else None
    places = range(at, len(lines) - len(piece) + 1)
    return next((i for i in places if tuple(lines[i : i + len(piece)]) == piece), None)


def statements_in(lines: Sequence[str]) -> tuple[Statement, ...] | None:
    """Return the statements of a decision; None where it has headings of sections."""
    sections, _ = parse_body(list(lines))
    if any(part.heading for part in sections):
        return None
    return sections[0].statements if sections else ()
