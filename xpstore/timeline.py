"""First-parent history in order of time, with what each event means once its reverts are resolved.

A plan's state is the parity of its reverts. A plain `git revert <sha>` is resolved to what it undoes
through "This reverts commit <sha>", also where that commit was re-parented, and through its quoted
subject where a hosting site dropped the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from xpstore import events, recognise
from xpstore.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xpstore.events import Entry
    from xpstore.location import Location

Role = Literal["plan", "undo", "redo", "person"]
"""`redo` undoes an undo: what it changes is its plan's doing again."""

_REVERTS = re.compile(r"^This reverts commit ([0-9a-f]{4,40})\b", re.MULTILINE)
_QUOTED = re.compile(r'(Revert|Reapply) "(.*)"')
_NUMBER = re.compile(r" \(#\d+\)$")


@dataclass(slots=True)
class _Node:
    """Something that can be reverted: a plan (by plan id) or a person's commit (by commit id)."""

    active: bool
    event: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """One event, resolved."""

    entry: Entry
    role: Role
    learners: frozenset[str]
    """Without versions; empty for people's commits and undoing ones."""
    plans: tuple[str, ...]
    """The plans whose doing the change is: the event's own, or those that a `redo` brings back."""
    targets: tuple[str, ...] = ()
    """What the event undid: plan ids, or commits of people."""
    side: bool = False
    """Came with a merge: says who did what; the merge itself says what the branch had."""


@dataclass(slots=True)
class Timeline:
    """Everything that happened on a branch, oldest first, and where it left the plans."""

    moments: list[Moment] = field(default_factory=list)
    nodes: dict[str, _Node] = field(default_factory=dict)
    learners: dict[str, str] = field(default_factory=dict)
    """Plan id → learner, without version."""
    by_commit: dict[str, tuple[str, ...]] = field(default_factory=dict)
    by_subject: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_active(self, plan_id: str) -> bool:
        """Return whether the plan is landed here and not undone."""
        return plan_id in self.nodes and self.nodes[plan_id].active

    def last_event(self, plan_id: str) -> str:
        """Return the commit that made the plan's state what it is. Raises KeyError for an unknown plan."""
        return self.nodes[plan_id].event


def build(loc: Location, ref: str) -> Timeline:
    """Return the timeline of a ref. Raises NotFoundError, and RepositoryError in a shallow clone."""
    events.need_whole_history(loc)
    entries = [events.with_side(loc, entry) for entry in events.read(loc, ref)]
    return of(loc, reversed(recognise.recognised(loc, entries)))


def of(loc: Location, entries: Iterable[Entry]) -> Timeline:
    """Return the timeline of events, oldest first, that come with their side."""
    timeline = Timeline()
    for entry in entries:
        for moment in _moments(loc, timeline, entry):
            timeline.moments.append(moment)
    return timeline


def reverted(loc: Location, timeline: Timeline, entry: Entry) -> tuple[str, ...]:
    """Return the ids of the nodes that an entry undoes: plan ids, or commits of people."""
    found = [i for stamp in entry.stamps for i in stamp.fields.get("Reverts-Plan", ())]
    for sha in _REVERTS.findall(entry.message):
        found += _nodes_of(loc, timeline, sha)
    quoted = None if found or entry.stamps else _QUOTED.fullmatch(_bare(entry.subject))
    if quoted:
        # `Reapply "x"` undoes the commit `Revert "x"`
        title = _bare(quoted[2]) if quoted[1] == "Revert" else f'Revert "{quoted[2]}"'
        found += timeline.by_subject.get(title, ())
    return tuple(i for i in dict.fromkeys(found) if i in timeline.nodes)


def undoes(entry: Entry) -> bool:
    """Return whether an entry says that it undoes something: a plan, or a commit as `git revert` does."""
    if any("Reverts-Plan" in stamp.fields for stamp in entry.stamps) or _REVERTS.search(entry.message):
        return True
    return not entry.stamps and _QUOTED.fullmatch(_bare(entry.subject)) is not None


def _bare(subject: str) -> str:
    """Drop the number that a hosting site appends."""
    return _NUMBER.sub("", subject)


def _nodes_of(loc: Location, timeline: Timeline, sha: str) -> tuple[str, ...]:
    known = [ids for commit, ids in timeline.by_commit.items() if commit.startswith(sha)]
    if known:
        return known[0]
    try:  # re-parented or rebased since: the old commit may still be here
        message = loc.repo.commit(loc.repo.resolve(sha)).message
    except NotFoundError:
        return ()
    plans = tuple(s.plan_id for s in events.stamps(message, loc.config.id))
    return plans or timeline.by_subject.get(_bare(message.partition("\n")[0].strip()), ())


def _moments(loc: Location, timeline: Timeline, entry: Entry) -> Iterator[Moment]:
    for inner in entry.merged:
        yield _moment(loc, timeline, inner, side=True)
    moment = _moment(loc, timeline, entry, side=False)
    if entry.merged:
        timeline.by_commit[entry.commit] = tuple(
            node for inner in entry.merged for node in timeline.by_commit[inner.commit]
        )
    yield moment


def _moment(loc: Location, timeline: Timeline, entry: Entry, *, side: bool) -> Moment:
    targets = reverted(loc, timeline, entry)
    nodes = tuple(s.plan_id for s in entry.stamps) or (entry.commit,)
    for node in nodes:
        if node not in timeline.nodes or not side:  # landed anew, perhaps after it was undone
            timeline.nodes[node] = _Node(active=True, event=entry.commit, targets=targets)
    for stamp in entry.stamps:
        timeline.learners.setdefault(stamp.plan_id, stamp.learner)
    timeline.by_commit[entry.commit] = nodes
    timeline.by_subject[_bare(entry.subject)] = nodes
    roots = [root for target in targets for root in _flip(timeline, target, entry.commit)]
    plans = tuple(s.plan_id for s in entry.stamps if not s.fields.get("Reverts-Plan"))
    role: Role = "plan" if plans else "person"
    if targets and not plans:
        redone = tuple(r for r in roots if timeline.nodes[r].active)
        role, plans = ("redo", redone) if redone else ("undo", ())
    taught = {timeline.learners.get(p, "") for p in plans} - {events.PERSON, ""}
    role = role if taught or role != "plan" else "person"
    return Moment(entry, role, frozenset(taught), plans, targets, side)


def _flip(timeline: Timeline, node_id: str, commit: str) -> list[str]:
    """Undo or bring back a node and, the other way round, all that it had undone; return the roots."""
    node = timeline.nodes[node_id]
    node.active = not node.active
    node.event = commit
    inner = [t for t in node.targets if t in timeline.nodes and t != node_id]
    return [root for target in inner for root in _flip(timeline, target, commit)] or [node_id]
