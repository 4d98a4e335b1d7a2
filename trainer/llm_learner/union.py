"""All that a group of edits and their pages say, as numbered statements. Pure.

The statements that stand on a page now come first, in the order of the page; what edits add stands where they
put it. Nothing is decided here, and nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.merge import merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainer.llm_learner.grouping import Group
    from trainer.patch_merge import PatchMergeContext, PatchMergePatch
    from xpstore.markdown import Statement


@dataclass(frozen=True, slots=True)
class Said:
    """One statement of the union."""

    number: int
    page: str
    section: str
    text: str
    is_there: bool
    """Whether it stands on the page now."""
    added_by: frozenset[int] = frozenset()
    """The edits that add it, by their places in the group, from 1."""
    taken_by: frozenset[int] = frozenset()
    """The edits that take it out, or replace it."""

    @property
    def is_open(self) -> bool:
        """Whether an edit touches it, so that something has to be said about it."""
        return bool(self.added_by or self.taken_by)


@dataclass(frozen=True)
class Union:
    """The statements of a group. Numbers count on from those of the groups before it in a question."""

    group: Group
    statements: tuple[Said, ...]
    """In the order of the pages; `statements[0].number` is `first`."""
    heads: dict[str, Document]
    """Page → its front matter with what the edits change in it, and its text as it is now (none: empty)."""
    current: dict[str, str | None]
    """Page → its text now; None = no page."""
    descriptions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """New page → what edits propose as its description, where they differ."""

    @cached_property
    def by_number(self) -> dict[int, Said]:
        """The statements by their numbers."""
        return {s.number: s for s in self.statements}

    @cached_property
    def given_up(self) -> frozenset[str]:
        """The pages that an edit deletes or replaces."""
        patches = self.group.patches
        gone = {p.target for p in patches if p.after_file is None}
        return frozenset(gone.union(*(p.supersedes for p in patches)))

    def stays(self, said: Said) -> bool:
        """Whether a statement has to stay, word for word, on whatever page: no edit touches it."""
        return not said.is_open and said.page not in self.given_up

    def of(self, page: str) -> tuple[Said, ...]:
        """Return the statements of a page, in order."""
        return tuple(s for s in self.statements if s.page == page)

    def gradients(self, edits: Iterable[int]) -> tuple[str, ...]:
        """Return the ids of the gradients that edits are."""
        return tuple(self.group.patches[n - 1].gradient for n in sorted(edits))


def union_of(group: Group, context: PatchMergeContext, first: int = 1) -> Union:
    """Return what a group says, numbered from `first`.

    Raises DocumentError where a page does not parse, or edits exclude each other in front matter other than
    the description: no model is asked about that.
    """
    files = {f.name: f.content for f in (*context.required_files, *context.candidate_files)}
    statements: list[Said] = []
    heads: dict[str, Document] = {}
    descriptions: dict[str, tuple[str, ...]] = {}
    for page in group.pages:
        edits = [(n, p) for n, p in enumerate(group.patches, 1) if p.target == page]
        heads[page], found = _head(page, files.get(page), [p for _, p in edits])
        if len(found) > 1:
            descriptions[page] = found
        for said in _page(page, files.get(page), edits):
            statements.append(replace(said, number=first + len(statements)))
    current = {page: files.get(page) for page in group.pages}
    return Union(group, tuple(statements), heads, current, descriptions)


def _page(page: str, text: str | None, edits: Sequence[tuple[int, PatchMergePatch]]) -> list[Said]:
    """Return what stands on a page and what edits add, in order, without numbers."""
    document = Document.parse(text or "", page)
    found = [Said(0, page, s.section, s.text, is_there=True) for s in document.statements()]
    for number, patch in edits:
        if patch.after_file is None:
            continue  # what a deletion takes out has to go somewhere: a model says where
        before, after = (
            Document.parse(file.content if file else "", page).statements()
            for file in (patch.before_file, patch.after_file)
        )
        _take(found, _minus(before, after), number)
        _add(found, page, after, _minus(after, before), number)
    return found


def _minus(some: Sequence[Statement], others: Sequence[Statement]) -> list[Statement]:
    """Return the statements that others have not (as often), in order."""
    left = [(s.section, s.text) for s in others]
    gone: list[Statement] = []
    for statement in some:
        key = (statement.section, statement.text)
        if key in left:
            left.remove(key)
        else:
            gone.append(statement)
    return gone


def _take(found: list[Said], removed: Sequence[Statement], number: int) -> None:
    for statement in removed:
        at = _place(found, statement)
        if at is not None and found[at].is_there:
            found[at] = replace(found[at], taken_by=found[at].taken_by | {number})


def _add(
    found: list[Said], page: str, after: Sequence[Statement], added: Sequence[Statement], number: int
) -> None:
    """Insert what an edit adds after what it has before it; what is there already is not added twice."""
    place = 0
    for statement in after:
        at = _place(found, statement)
        if statement in added and at is None:
            while place < len(found) and not found[place].is_there:
                place += 1  # behind what earlier edits added here
            said = Said(0, page, statement.section, statement.text, is_there=False)
            found.insert(place, replace(said, added_by=frozenset({number})))
            at = place
        elif statement in added and at is not None and not found[at].is_there:
            found[at] = replace(found[at], added_by=found[at].added_by | {number})
        if at is not None:
            place = at + 1


def _place(found: Sequence[Said], statement: Statement) -> int | None:
    wanted = (statement.section, statement.text)
    return next((at for at, said in enumerate(found) if (said.section, said.text) == wanted), None)


def _head(
    page: str, text: str | None, patches: Sequence[PatchMergePatch]
) -> tuple[Document, tuple[str, ...]]:
    """Return the page as it is, with the edits' front matter, and the descriptions that they propose."""
    front = _front(text)
    proposed: list[str] = []
    for patch in patches:
        if patch.after_file is None:
            continue
        before = _front(patch.before_file.content if patch.before_file else None)
        after = _front(patch.after_file.content)
        description = Document.parse(after or "", page).front.get("description")
        if after != before and isinstance(description, str):
            proposed.append(description)
        result = merge(before, front, after, page)
        if result.verdict == "REFUSED":  # then it is about the description, or nobody is asked
            known = Document.parse(front or "", page).front.get("description")
            base, ours, theirs = (_described(t, known) for t in (before, front, after))
            result = merge(base, ours, theirs, page)
        if result.verdict == "REFUSED":
            raise DocumentError(f"the edits of {page} exclude each other in its front matter")
        front = result.text
    body = Document.parse(text or "", page).body
    return Document.parse((front or "") + body, page), tuple(dict.fromkeys(proposed))


def _front(text: str | None) -> str | None:
    if text is None:
        return None
    document = Document.parse(text)
    return text[: len(text) - len(document.body)]


def _described(text: str | None, description: object) -> str | None:
    return None if text is None else Document.parse(text).with_fields(description=description).text
