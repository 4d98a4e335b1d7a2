"""Which edits of a batch have to do with each other: only those are put to a model, and together. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import polarity
from xpstore.document import Document
from xpstore.duplicates import Said
from xpstore.errors import DocumentError
from xpstore.merge import merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainer.patch_merge import PatchMergeContext, PatchMergePatch

CLOSE = 0.4
"""Share of words that two statements have in common where somebody should look whether they say the same. Far
lower than where duplicates are reported (xpstore/duplicates.py): this only costs a question."""


@dataclass(frozen=True, slots=True)
class Group:
    """Edits that meet, and the pages they meet on."""

    patches: tuple[PatchMergePatch, ...]
    pages: tuple[str, ...]
    """Targets, what they supersede, and pages that may say the same."""
    meets: bool
    """Whether anything meets anything; if not, there is nothing to decide."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The pages that the edits are made for, in order."""
        return tuple(dict.fromkeys(p.target for p in self.patches))


def groups_of(context: PatchMergeContext, most: int) -> list[Group]:
    """Return the groups of a batch, in the order of their first edits; none has more than `most` edits.

    A larger one is cut between targets where that can be: its parts are decided apart and then merged.
    """
    parts: list[set[str]] = []
    for patch in context.patches:
        names = {patch.target, *patch.supersedes, *_near(patch, context)}
        joined = [part for part in parts if part & names]
        parts = [part for part in parts if not part & names]
        parts.append(names.union(*joined))
    places = {target: at for at, target in enumerate(dict.fromkeys(p.target for p in context.patches))}
    found: list[Group] = []
    for part in parts:
        patches = sorted((p for p in context.patches if p.target in part), key=lambda p: places[p.target])
        for cut in _cut(patches, most):
            seen = [n for p in cut for n in (p.target, *p.supersedes, *_near(p, context))]
            found.append(Group(tuple(cut), tuple(dict.fromkeys(seen)), _meets(cut, seen, context)))
    return sorted(found, key=lambda group: places[group.patches[0].target])


def packed(groups: Iterable[Group], most: int) -> list[list[Group]]:
    """Return the groups in few questions, none with more than `most` edits: first fit, largest first.

    Any two questions have more than `most` edits together, so there are fewer than 2 n / most + 1.
    """
    questions: list[list[Group]] = []
    for group in sorted(groups, key=lambda g: -len(g.patches)):
        fits = (q for q in questions if sum(len(g.patches) for g in q) + len(group.patches) <= most)
        question = next(fits, None)
        if question is None:
            questions.append([group])
        else:
            question.append(group)
    return questions


def _cut(patches: Sequence[PatchMergePatch], most: int) -> list[list[PatchMergePatch]]:
    """Cut edits that are sorted by target into runs, between targets unless one has more than `most`."""
    runs: list[list[PatchMergePatch]] = [[]]
    for target in dict.fromkeys(p.target for p in patches):
        mine = [p for p in patches if p.target == target]
        if runs[-1] and len(runs[-1]) + len(mine) > most:
            runs.append([])
        for patch in mine:
            if len(runs[-1]) == most:
                runs.append([])
            runs[-1].append(patch)
    return runs


def _near(patch: PatchMergePatch, context: PatchMergeContext) -> list[str]:
    """Return the pages near an edit that may say what it says, or the opposite."""
    near = context.near.get(patch.target, ())
    if context.by_meaning:
        return list(near)
    mine = [Said.of(text) for text in added(patch)]
    return [name for name in near if any(_meet(mine, text) for text in _texts(name, context))]


def added(patch: PatchMergePatch) -> list[str]:
    """Return the statements that an edit adds; of a page that it deletes, all: they have to go somewhere."""
    before = _statements(patch.before_file.content if patch.before_file else None)
    if patch.after_file is None:
        return before
    return [text for text in _statements(patch.after_file.content) if text not in set(before)]


def _meet(mine: Sequence[Said], page: str) -> bool:
    others = [Said.of(text) for text in _statements(page)]
    return any(
        _is_close(one, other) or polarity.contradict(one.command, other.command)
        for one in mine
        for other in others
    )


def _is_close(one: Said, other: Said) -> bool:
    return bool(one.words) and len(one.words & other.words) >= CLOSE * len(one.words | other.words)


def _texts(name: str, context: PatchMergeContext) -> list[str]:
    """Return what a page says now, and what edits make of it."""
    files = [f for f in (*context.required_files, *context.candidate_files) if f.name == name]
    files += [p.after_file for p in context.patches if p.target == name and p.after_file]
    return [file.content for file in files]


def _meets(patches: Sequence[PatchMergePatch], pages: Sequence[str], context: PatchMergeContext) -> bool:
    if len(patches) > 1 or len(set(pages)) > 1:
        return True
    (patch,) = patches
    if patch.after_file is None:
        return True  # each of its statements has to go somewhere
    before = patch.before_file.content if patch.before_file else None
    result = merge(before, context.current(patch.target), patch.after_file.content, patch.target)
    return result.verdict != "PROVEN" or bool(result.overlaps)


def _statements(text: str | None) -> list[str]:
    try:
        document = Document.parse(text or "")
    except DocumentError:  # a person's page with broken front matter; its body is compared
        document = Document.parse(f"\n{text}")
    return [statement.text for statement in document.statements()]
