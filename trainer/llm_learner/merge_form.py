"""What a model is asked about edits that meet, and the form of its answer. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from trainer.asking.quoting import Quoting
from trainer.llm_learner.claims import Fate, Wording, shown
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trainer.llm_learner.union import Said, Union

_REASON = 600  # characters of a rationale that are shown


class PageFate(Fate):
    """What became of one statement, and where it stands."""

    page: str = Field(default="", max_length=64)
    """The page where it is kept, if that is another one than its own."""


class PageWording(Wording):
    """A new statement and its place."""

    page: str = Field(max_length=64)
    section: str = Field(max_length=120)


class PageChange(Frozen):
    """A page that is new, gone, or called otherwise in the end."""

    page: str = Field(max_length=64)
    change: Literal["new", "renamed", "described", "deleted"]
    name: str = Field(default="", max_length=64)
    """The name that it has in the end, where it is renamed."""
    description: str = Field(default="", max_length=300)
    """When to read it; empty = as it was. A new page needs one."""


class MergeAnswer(Frozen):
    """The answer about all groups of a question."""

    account: tuple[PageFate, ...] = Field(max_length=1_000)
    wordings: tuple[PageWording, ...] = Field(max_length=200)
    pages: tuple[PageChange, ...] = Field(max_length=50)


def content_of(unions: Sequence[Union], salt: str) -> tuple[str, Quoting]:
    """Return the question about these groups, and what quotes the data in it."""
    last = unions[-1].statements[-1].number if unions[-1].statements else 0
    parts = [(_pages(union), _statements(union), _edits(union)) for union in unions]
    quoting = Quoting(*(text for part in parts for text in part), salt=salt)
    lines = [f"New wordings have numbers from {100 * (last // 100 + 1)} on."]
    for number, (pages, statements, edits) in enumerate(parts, 1):
        if len(parts) > 1:
            lines.append(f"Group {number} of {len(parts)}; the groups have nothing to do with each other.")
        lines += [
            quoting.block("pages", pages),
            quoting.block("statements", statements),
            quoting.block("edits", edits),
        ]
    return "\n\n".join(lines), quoting


def _pages(union: Union) -> str:
    return "\n".join(line for page in union.group.pages for line in _page(union, page))


def _page(union: Union, page: str) -> Iterator[str]:
    state = "there now" if union.current[page] is not None else "new"
    yield f"{page}: {state}; {union.heads[page].front.get('description', '')}"
    if page in union.descriptions:
        yield from (f"{page}: an edit proposes the description: {text}" for text in union.descriptions[page])


def _statements(union: Union) -> str:
    lines = []
    for page in union.group.pages:
        said = union.of(page)
        lines += [shown(s.number, f"{page}, section {s.section!r}; {_history(s)}", s.text) for s in said]
    return "\n".join(lines)


def _history(said: Said) -> str:
    state = "stands there now" if said.is_there else f"edit {_listed(said.added_by)} adds it"
    return f"{state}; edit {_listed(said.taken_by)} takes it out, or replaces it" if said.taken_by else state


def _listed(edits: frozenset[int]) -> str:
    return " and ".join(map(str, sorted(edits)))


def _edits(union: Union) -> str:
    return "\n".join(line for n in range(1, len(union.group.patches) + 1) for line in _edit(union, n))


def _edit(union: Union, number: int) -> Iterator[str]:
    """Yield an edit as field diffs (RFC §10.2)."""
    patch = union.group.patches[number - 1]
    old = f"; in place of {', '.join(patch.supersedes)}" if patch.supersedes else ""
    what = "deletes the page" if patch.after_file is None else "of the page"
    yield f"Edit {number} {what} {patch.target}{old}. Confidence {patch.metadata.get('confidence')}."
    yield f"| {' '.join(str(patch.metadata.get('rationale', '')).split())[:_REASON]}"
    for field, diff in patch.field_diffs().items():
        yield f"Field {field}:"
        yield from (f"| {line}" for line in diff.split("\n"))
