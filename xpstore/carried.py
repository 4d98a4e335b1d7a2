"""Is what a commit did what its plans say? Rebase and squash carry a plan to other blobs; an edit alters it.

A plan is carried where its edit, merged into what the commit found, gives what the commit left: the same
three-way merge by statement that landing uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore.document import Document
from xpstore.errors import DocumentError, FormatError, RepositoryError
from xpstore.experience import experience_uri
from xpstore.merge import merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.evidence_check import Evidence
    from xpstore.recognise import Effects

Step = tuple[str, str]
"""The blobs of one experience before and after; "" for no file."""


@dataclass(slots=True)
class Texts:
    """Texts by blob id: from the repository and, where git dropped a blob, from the plans' patches."""

    shelf: Evidence
    known: dict[str, str | None] = field(default_factory=lambda: {"": None})

    def add_patches(self, paths: Sequence[str]) -> None:
        """Take the texts from these patch files; one that is altered has none to offer."""
        for path in paths:
            try:
                gradient = self.shelf.gradient(path)
            except (FormatError, KeyError):
                continue  # reported with the evidence
            for blob, file in (
                (gradient.base_blob, gradient.before_file),
                (gradient.result_blob, gradient.after_file),
            ):
                if file:
                    self.known[blob] = file.content

    def get(self, blob: str) -> str | None:
        """Return the text of a blob. Raises KeyError where it is nowhere, or no text."""
        if blob not in self.known:
            repo = self.shelf.loc.repo
            try:
                self.known[blob] = repo.blob(blob).decode()
            except (RepositoryError, UnicodeDecodeError) as error:
                raise KeyError(blob) from error
        return self.known[blob]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs (`notes`), and what of it is an alteration (`problems`)."""

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SquashComparison:
    """The same for several plans; a problem has the experience that it is about."""

    problems: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def compare(plan: Effects, commit: Effects, texts: Texts) -> Comparison:
    """Compare one plan with the commit that has it and nothing else."""
    problems = [f"the commit changes {experience_uri(n)}, the plan does not" for n in commit if n not in plan]
    notes: list[str] = []
    for name, step in plan.items():
        where = experience_uri(name)
        if name not in commit:
            problems.append(f"the plan changes {where}, the commit does not")
        elif commit[name] != step:
            problem = _altered(texts, [step], commit[name], where)
            if problem:
                problems.append(problem)
            else:
                notes.append(f"rebased: {where} was {_short(*step)}, is {_short(*commit[name])}")
    return Comparison(tuple(problems), tuple(notes))


def compare_squash(plans: Sequence[Effects], commit: Effects, texts: Texts) -> SquashComparison:
    """Compare several plans with the one commit that has them all, in either order of its message."""
    problems: list[tuple[str, str]] = []
    notes: list[str] = []
    for name, change in commit.items():
        steps = [plan[name] for plan in plans if name in plan]
        where = experience_uri(name)
        if not steps:
            notes.append(f"the commit changes {where}, which is in none of its plans")
            continue
        found = [_altered(texts, order, change, where) for order in (steps[::-1], steps)]
        if all(found):
            problems.append((name, found[0]))
    missing = dict.fromkeys(n for plan in plans for n in plan if n not in commit and not _nets_out(plans, n))
    problems += [(n, f"the plans change {experience_uri(n)}, the commit does not") for n in missing]
    return SquashComparison(tuple(problems), tuple(notes))


def _nets_out(plans: Sequence[Effects], name: str) -> bool:
    """Return whether a later plan takes back what an earlier one did to an experience."""
    steps = [plan[name] for plan in plans if name in plan]
    return {base for base, _ in steps} == {result for _, result in steps}


def _altered(texts: Texts, steps: Sequence[Step], change: Step, where: str) -> str:
    """Return what is wrong where these edits, one after the other, do not make the commit's change."""
    before, after = change
    if _chain(steps, before) == after:
        return ""
    if len(steps) == 1 and steps[0][0] == before:
        return (
            f"{where} is not what the plan wrote: blobs {_short(*change)}, the record has {_short(*steps[0])}"
        )
    try:
        text = texts.get(before)
        for base, result in steps:
            text = merge(texts.get(base), text, texts.get(result), where).text
        if text == texts.get(after) or (len(steps) == 1 and _same_edit(texts, steps[0], change)):
            return ""
    except KeyError:
        return f"{where}: the texts that the plan recorded are no longer here, so it cannot be compared"
    return f"{where} is not what the plan makes of it: blobs {_short(*change)}"


def _chain(steps: Sequence[Step], before: str) -> str | None:
    """Return the blob that the steps lead to; None where one does not start where the last one ended."""
    at = before
    for base, result in steps:
        if at != base:
            return None
        at = result
    return at


def _same_edit(texts: Texts, one: Step, other: Step) -> bool:
    """Return whether two edits add and remove the same statements and fields, wherever they put them."""
    try:
        edits = [_edit(texts.get(a) or "", texts.get(b) or "") for a, b in (one, other)]
    except DocumentError:
        return False
    return edits[0] == edits[1] and any(edits[0])


def _edit(before: str, after: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]], dict[str, object]]:
    old, new = Document.parse(before), Document.parse(after)
    lines = [{(s.section, s.text) for s in doc.statements()} for doc in (old, new)]
    keys = old.front.keys() | new.front.keys()
    front = {key: new.front.get(key) for key in keys if old.front.get(key) != new.front.get(key)}
    return lines[1] - lines[0], lines[0] - lines[1], front


def _short(before: str, after: str) -> str:
    return f"{before[:9] or 'nothing'}..{after[:9] or 'nothing'}"
