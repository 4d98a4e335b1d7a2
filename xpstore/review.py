"""What a reviewer wants to know of a plan: each lesson, its reason, and the rollouts that teach it.

Read from the evidence branch as it is, without the value types: `xp show` must start fast, and evidence
that was forgotten or not fetched is a gap to show and no error. `xp verify` is who checks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import evidence_read, frontmatter, history, layout, patchtext, recent, recognise
from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from xpstore.events import Entry, Stamp
    from xpstore.location import Location
    from xpstore.patchtext import PatchText


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
    forgotten: bool = False
    """It was removed for good (`xp forget`): only its id and how it ended are left."""


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
class Fate:
    """What became of one statement that the branch or the plan had added, changed or removed."""

    section: str
    text: str
    side: str
    """`ours` = the branch, `theirs` = the plan, or `both`."""
    change: str
    """added, changed or removed."""
    fate: str
    """kept, merged, superseded or dropped."""
    into: str
    reason: str


@dataclass(frozen=True, slots=True)
class Merge:
    """How one page was merged."""

    experience: str
    verdict: str
    """PROVEN = by rules alone; VERIFIED = somebody decided, and it passed the checks."""
    resolved_by: str
    account: tuple[Fate, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model was asked for a plan: by the whole run, up to then."""

    plan_id: str
    name: str
    """The model's."""
    prompts: dict[str, int]
    """Stage → version of its prompt."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    """In the currency of the prices that the store had; 0 where it had none."""


@dataclass(frozen=True, slots=True)
class Review:
    """One commit as a reviewer wants to see it."""

    entry: Entry
    diff: str
    """Unified diff of the experiences."""
    lessons: tuple[Lesson, ...]
    """What its plans taught, each with its evidence; none for people's plans and commits."""
    merges: tuple[Merge, ...] = ()
    """How pages were merged that the branch had changed too when its plans landed."""
    asked: tuple[Asked, ...] = ()
    """What a model was asked, for those of its plans that one has a part in."""


def show(loc: Location, plan_or_rev: str) -> Review:
    """Return a plan or commit with its diff and the evidence of each lesson.

    Raises NotFoundError for what is unknown or changes no experience, FormatError for an altered record.
    """
    found = recent.event_of(loc, history.find_commit(loc, plan_or_rev))
    entry = recognise.recognised(loc, [found])[0]
    text = history.changes(loc, entry.parents[0] if entry.parents else EMPTY_TREE, entry.commit)
    taught = tuple(lesson for plan_id in entry.plan_ids for lesson in lessons(loc, plan_id))
    merged = tuple(m for stamp in entry.stamps for m in merges(loc, stamp))
    models = tuple(one for plan_id in entry.plan_ids if (one := asked(loc, plan_id)))
    return Review(entry, text, taught, merged, models)


def lessons(loc: Location, plan_id: str) -> list[Lesson]:
    """Return the lessons of a plan in the order of its patches; none where it has no gradients.

    Raises FormatError where a record is no JSON or a patch no patch.
    """
    seen = cited(loc, plan_id)
    patches = evidence_read.patches(loc, plan_id).values()
    return [_lesson(loc, plan_id, patchtext.read(data, plan_id), seen) for data in patches]


def cited(loc: Location, plan_id: str) -> dict[str, Seen]:
    """Return the rollouts that a plan's records cite, by id. Raises FormatError for what is no JSON."""
    seen: dict[str, Seen] = {}
    gone = frozenset(evidence_read.find_ids(loc, layout.TOMBSTONES, ""))
    for record in evidence_read.records(loc, plan_id).values():
        rollouts = record.get("rollouts")
        for rollout in rollouts if isinstance(rollouts, list) else ():
            if isinstance(rollout, dict) and isinstance(rollout.get("id"), str):
                seen.setdefault(rollout["id"], _seen(rollout, gone))
    return seen


def merges(loc: Location, stamp: Stamp) -> list[Merge]:
    """Return how the pages of a plan were merged, as the record of this landing says.

    Raises FormatError for a record that is no JSON.
    """
    record = evidence_read.records(loc, stamp.plan_id).get(stamp.get("Plan-Digest"), {})
    rows = record.get("merges")
    return [_merge(row) for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict)]


def asked(loc: Location, plan_id: str) -> Asked | None:
    """Return what a model was asked for a plan; None where none was. Raises FormatError: no JSON."""
    for record in evidence_read.records(loc, plan_id).values():
        model = _table(_table(record, "metadata"), "model")
        total = _table(model, "total")
        if model:
            return Asked(
                plan_id=plan_id,
                name=str(model.get("name", "")),
                prompts={name: int(_number(version)) for name, version in _table(model, "prompts").items()},
                calls=int(_number(total.get("calls"))),
                prompt_tokens=int(_number(total.get("prompt_tokens"))),
                completion_tokens=int(_number(total.get("completion_tokens"))),
                cost=_number(total.get("cost")),
            )
    return None


def _table(data: Mapping[str, object], key: str) -> dict[str, object]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, float | int) else 0.0


def _merge(row: Mapping[str, object]) -> Merge:
    account = row.get("account")
    fates = [entry for entry in (account if isinstance(account, list) else ()) if isinstance(entry, dict)]
    name, verdict, by = (str(row.get(key, "")) for key in ("name", "verdict", "resolved_by"))
    made = (Fate(**{key: str(entry.get(key, "")) for key in Fate.__slots__}) for entry in fates)
    return Merge(name, verdict, by, tuple(made))


def _seen(record: dict[str, object], gone: Container[str]) -> Seen:
    passed, score = record.get("passed"), record.get("score")
    return Seen(
        str(record["id"]),
        passed if isinstance(passed, bool) else None,
        score if isinstance(score, float | int) else None,
        str(record.get("case", "")),
        record["id"] in gone,
    )


def rollouts_of(patch: PatchText, seen: Mapping[str, Seen]) -> tuple[Seen, ...]:
    """Return the rollouts that a lesson rests on, failed ones first, then by case."""
    found = [seen.get(i) or Seen(i, None, None, "") for i in patch.rollouts]
    return tuple(sorted(found, key=lambda s: (s.passed is not False, s.case, s.id)))


def _lesson(loc: Location, plan_id: str, patch: PatchText, seen: Mapping[str, Seen]) -> Lesson:
    before, after = _document(patch.before), _document(patch.after)
    old, new = ({s.key: s.text for s in side.statements()} for side in (before, after))
    return Lesson(
        plan_id=plan_id,
        gradient_id=patch.gradient_id,
        experience=patch.experience,
        confidence=patch.confidence,
        rationale=patch.rationale,
        added=tuple(text for key, text in new.items() if key not in old),
        removed=tuple(text for key, text in old.items() if key not in new),
        rollouts=rollouts_of(patch, seen),
        notes=tuple(note(loc, uri) for uri in patch.notes),
    )


def _document(text: str) -> Document:
    try:
        return Document.parse(text)
    except DocumentError:  # front matter that a person broke: the statements are what matters here
        return Document.parse(f"\n{text}")


def note(loc: Location, uri: str) -> Note:
    """Return a note on a rollout by its path in the evidence branch; bare where it is not here."""
    data = evidence_read.read(loc, uri)
    if data is None:
        return Note(uri)
    source, _ = frontmatter.split(data.decode("utf-8", "replace"))
    front = frontmatter.load(source or "", uri)
    rollout, outcome, anchor = (str(front.get(k, "")) for k in ("rollout", "outcome", "retrieval_anchor"))
    return Note(uri, rollout, outcome, anchor)
