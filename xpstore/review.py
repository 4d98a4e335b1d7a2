"""What a reviewer wants to know of a plan: each lesson, its reason, and the rollouts that teach it.

Read from the evidence branch as it is, without the value types: `xp show` must start fast, and evidence
that was forgotten or not fetched is a gap to show and no error. `xp verify` is who checks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import evidence_read, frontmatter, history, recent, recognise
from xpstore.document import Document
from xpstore.errors import DocumentError, FormatError
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from xpstore.events import Entry
    from xpstore.location import Location

_INDENT = "    "  # of the rationale in a patch file
_END = "-- \nxpstore\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A note on a rollout; without outcome and anchor where it is not here."""

    uri: str
    rollout: str = ""
    outcome: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A rollout that a lesson rests on."""

    id: str
    passed: bool | None
    score: float | None
    case: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """One gradient of a plan."""

    plan_id: str
    gradient_id: str
    experience: str
    confidence: float
    rationale: str
    added: tuple[str, ...]
    """The statements that it adds, as they stand in the file."""
    removed: tuple[str, ...]
    rollouts: tuple[Seen, ...]
    """Failed ones first, then by case."""
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """One commit as a reviewer wants to see it."""

    entry: Entry
    diff: str
    """Unified diff of the experiences."""
    lessons: tuple[Lesson, ...]
    """What its plans taught, each with its evidence; none for people's plans and commits."""


def show(loc: Location, plan_or_rev: str) -> Review:
    """Return a plan or commit with its diff and the evidence of each lesson.

    Raises NotFoundError for what is unknown or changes no experience, FormatError for an altered record.
    """
    found = recent.event_of(loc, history.find_commit(loc, plan_or_rev))
    entry = recognise.recognised(loc, [found])[0]
    text = history.changes(loc, entry.parents[0] if entry.parents else EMPTY_TREE, entry.commit)
    taught = tuple(lesson for plan_id in entry.plan_ids for lesson in lessons(loc, plan_id))
    return Review(entry, text, taught)


def lessons(loc: Location, plan_id: str) -> list[Lesson]:
    """Return the lessons of a plan in the order of its patches; none where it has no gradients.

    Raises FormatError where a record is no JSON or a patch no patch.
    """
    seen: dict[str, Seen] = {}
    for record in evidence_read.records(loc, plan_id).values():
        cited = record.get("rollouts")
        for rollout in cited if isinstance(cited, list) else ():
            if isinstance(rollout, dict) and isinstance(rollout.get("id"), str):
                seen.setdefault(rollout["id"], _seen(rollout))
    return [_lesson(loc, plan_id, data, seen) for data in evidence_read.patches(loc, plan_id).values()]


def _seen(record: dict[str, object]) -> Seen:
    passed, score = record.get("passed"), record.get("score")
    return Seen(
        str(record["id"]),
        passed if isinstance(passed, bool) else None,
        score if isinstance(score, float | int) else None,
        str(record.get("case", "")),
    )


def _lesson(loc: Location, plan_id: str, data: bytes, seen: dict[str, Seen]) -> Lesson:
    _, _, mail = data.decode("utf-8", "replace").partition("\n\n")
    head, _, rest = mail.partition("\n\n")
    prose, _, diff = f"\n{rest}".partition("\n---\n")
    fields: dict[str, list[str]] = {}
    for line in head.split("\n"):
        key, _, value = line.partition(": ")
        fields.setdefault(key, []).append(value)
    try:
        confidence = float(fields["Confidence"][0])
    except (KeyError, ValueError) as error:
        raise FormatError(
            f"a patch of plan {plan_id} has no confidence: it was altered", hint="xp verify tells more"
        ) from error
    before, after = _sides(diff.removesuffix(_END))
    old, new = ({s.key: s.text for s in side.statements()} for side in (before, after))
    rollouts = [seen.get(i) or Seen(i, None, None, "") for i in fields.get("Rollouts", ())]
    return Lesson(
        plan_id=plan_id,
        gradient_id=fields.get("Gradient-Id", [""])[0],
        experience=fields.get("Target", [""])[0].rpartition("/")[2].removesuffix(".md"),
        confidence=confidence,
        rationale="\n".join(line.removeprefix(_INDENT) for line in prose.split("\n")).strip("\n"),
        added=tuple(text for key, text in new.items() if key not in old),
        removed=tuple(text for key, text in old.items() if key not in new),
        rollouts=tuple(sorted(rollouts, key=lambda s: (s.passed is not False, s.case, s.id))),
        notes=tuple(_note(loc, uri) for uri in fields.get("Evidence", ())),
    )


def _sides(diff: str) -> tuple[Document, Document]:
    """Return the documents before and after: a patch has the whole file as context."""
    sides: tuple[list[str], list[str]] = ([], [])
    _, _, hunk = f"\n{diff}".partition("\n@@ ")
    for line in hunk.split("\n")[1:]:
        if line.startswith((" ", "-")):
            sides[0].append(line[1:])
        if line.startswith((" ", "+")):
            sides[1].append(line[1:])
    before, after = (_document("\n".join(lines) + "\n") for lines in sides)
    return before, after


def _document(text: str) -> Document:
    try:
        return Document.parse(text)
    except DocumentError:  # front matter that a person broke: the statements are what matters here
        return Document.parse(f"\n{text}")


def _note(loc: Location, uri: str) -> Note:
    data = evidence_read.read(loc, uri)
    if data is None:
        return Note(uri)
    source, _ = frontmatter.split(data.decode("utf-8", "replace"))
    front = frontmatter.load(source or "", uri)
    rollout, outcome, anchor = (str(front.get(k, "")) for k in ("rollout", "outcome", "retrieval_anchor"))
    return Note(uri, rollout, outcome, anchor)
