"""From a line of an experience to who taught it: plan, lesson, notes, rollouts, cases, rewards.

Git finds the commit of every line, through renames and merges (its own blame: libgit2's takes thirty times as
long). What git cannot know is added: which of a squash's plans wrote the line, who had written what an undone
undoing brought back, who brought a statement that later plans put into other words, and on what evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import events, evidence_read, gitcli, layout, patchtext, review
from xpstore.errors import NotFoundError
from xpstore.events import PERSON
from xpstore.page_history import PageHistory, Placed, placed
from xpstore.timeline import undoes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from xpstore.events import Entry
    from xpstore.location import Location
    from xpstore.patchtext import PatchText
    from xpstore.review import Note, Seen

_LEARNERS = "@xpstore.invalid"


@dataclass(frozen=True, slots=True)
class Taught:
    """A lesson that a line comes from."""

    plan_id: str
    gradient_id: str
    confidence: float
    rationale: str
    rollouts: tuple[Seen, ...]
    """Failed ones first."""
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote something."""

    commit: str
    author: str
    time: int
    """Seconds since 1970."""
    subject: str
    plans: tuple[str, ...]
    """Usually one; several where those of a squash wrote the same."""
    learner: str
    """With its version; "" for people, also where they made a plan."""
    lessons: tuple[Taught, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file."""

    number: int
    text: str
    origin: Origin
    restored_by: str = ""
    """The undoing commit that brought it back since."""


@dataclass(frozen=True, slots=True)
class Told:
    """A statement: its lines, and all who wrote it, newest first, each with the words of that time."""

    first: int
    last: int
    section: str
    history: tuple[tuple[str, Origin], ...]


@dataclass(frozen=True, slots=True)
class Blame:
    """A file with its origins."""

    experience: str
    commit: str
    lines: tuple[Line, ...]
    statements: tuple[Told, ...]
    """Empty where evidence was not asked for."""


def blame(loc: Location, name: str, ref: str, *, evidence: bool = False) -> Blame:
    """Return who wrote each line of an experience at a ref, with `evidence` also why.

    Raises NotFoundError for an unknown ref or experience, RepositoryError in a shallow clone, FormatError
    where evidence was altered.
    """
    events.need_whole_history(loc)
    commit = events.commit_of(loc, ref)
    path = loc.at(commit).in_tree(f"{layout.EXPERIENCES}/{name}{events.SUFFIX}")
    found = loc.repo.entry(loc.repo.commit(commit).tree, path)
    if found is None or not found.is_file:
        raise NotFoundError(
            f"there is no experience '{name}' in {ref}",
            hint=f"xp log --experience {name} tells of older ones",
        )
    page = PageHistory.read(loc, commit, name)
    search = _Search(loc, page, evidence=evidence)
    lines = tuple(search.line(number, *row) for number, row in enumerate(_rows(loc, commit, path), 1))
    text = loc.repo.blob(found.id).decode("utf-8", "replace")
    told = tuple(search.told(at) for at in placed(text)) if evidence else ()
    return Blame(name, commit, lines, told)


def _rows(loc: Location, commit: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield commit and text of every line."""
    out = gitcli.run(loc.repo.place, ["blame", "--line-porcelain", "--no-textconv", commit, "--", path])
    at = ""
    for line in out.decode("utf-8", "replace").split("\n"):
        if line.startswith("\t"):
            yield at, line[1:].removesuffix("\r")
            at = ""
        elif not at:
            at = line.partition(" ")[0]


@dataclass(slots=True)
class _Search:
    """Goes from commits to plans and their evidence; remembers what it has read."""

    loc: Location
    page: PageHistory
    evidence: bool
    _patches: dict[str, list[PatchText]] = field(default_factory=dict)
    _seen: dict[str, dict[str, Seen]] = field(default_factory=dict)
    _notes: dict[str, Note] = field(default_factory=dict)

    def line(self, number: int, commit: str, text: str) -> Line:
        """Return one line with its origin."""
        entry = self.page.entry(commit)
        writer = self.page.writer(text, entry) if undoes(entry) else entry
        return Line(number, text, self._origin(writer, {text}), "" if writer is entry else commit)

    def told(self, at: Placed) -> Told:
        """Return a statement with all who wrote it."""
        wordings = self.page.wordings(at.statement)
        history = tuple((text, self._origin(entry, set(text.split("\n")))) for entry, text in wordings)
        return Told(at.first, at.last, at.statement.section, history)

    def _origin(self, entry: Entry, lines: Collection[str]) -> Origin:
        plans, found = self._plans(entry, lines)
        learners = {stamp.plan_id: stamp.get("Learner") for e in (*entry.merged, entry) for stamp in e.stamps}
        named = dict.fromkeys(learners.get(plan, "") for plan in plans)
        return Origin(
            commit=entry.commit,
            author=entry.author,
            time=entry.time,
            subject=entry.subject,
            plans=plans,
            learner=", ".join(learner for learner in named if learner not in {"", PERSON}),
            lessons=tuple(self._taught(plan, patch) for plan, patch in found) if self.evidence else (),
        )

    def _plans(
        self, entry: Entry, lines: Collection[str]
    ) -> tuple[tuple[str, ...], list[tuple[str, PatchText]]]:
        """Return whose lines these are among a commit's plans, and the patches that wrote them."""
        ids = entry.plan_ids
        sole = len(ids) == 1 and entry.email.endswith(_LEARNERS)
        if not ids or (sole and not self.evidence):
            return ids, []
        counted = [
            (len(patch.added.intersection(lines)), plan, patch)
            for plan in ids
            for patch in self._patches_of(plan)
            if patch.experience in self.page.names
        ]
        most = max((count for count, _, _ in counted), default=0)
        found = [(plan, patch) for count, plan, patch in counted if count == most > 0]
        if sole or not counted:
            return ids, found
        if found or not any(stamp.get("Resolved-By") for stamp in entry.stamps):
            return tuple(dict.fromkeys(plan for plan, _ in found)), found  # none: a person's part of a squash
        return ids, []

    def _patches_of(self, plan: str) -> list[PatchText]:
        if plan not in self._patches:
            files = evidence_read.patches(self.loc, plan).values()
            self._patches[plan] = [patchtext.read(data, plan) for data in files]
        return self._patches[plan]

    def _taught(self, plan: str, patch: PatchText) -> Taught:
        if plan not in self._seen:
            self._seen[plan] = review.cited(self.loc, plan)
        for uri in patch.notes:
            if uri not in self._notes:
                self._notes[uri] = review.note(self.loc, uri)
        return Taught(
            plan_id=plan,
            gradient_id=patch.gradient_id,
            confidence=patch.confidence,
            rationale=patch.rationale,
            rollouts=review.rollouts_of(patch, self._seen[plan]),
            notes=tuple(self._notes[uri] for uri in patch.notes),
        )
