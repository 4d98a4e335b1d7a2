"""The suspects: what changed the experiences between a commit that was good and one that is bad.

History is read along first parents, so a merge is one suspect with all that it brought. Where the experiences
come back to what they were, nothing in between can be to blame that is still there: it is left out. What was
undone with other updates in between is not to blame either, and while it was there, it hides what they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import history, timeline
from xpstore.errors import NotFoundError, UsageError
from xpstore.evaluation import experiences_at
from xpstore.events import need_whole_history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.events import Entry
    from xpstore.location import Location
    from xpstore.timeline import Timeline


@dataclass(frozen=True, slots=True)
class State:
    """The experiences at one moment."""

    commit: str
    tree: str
    """Id of the tree of the experiences."""


@dataclass(frozen=True, slots=True)
class Range:
    """What lies between two commits."""

    states: tuple[State, ...]
    """State 0 is the good end, the last one the bad end."""
    suspects: tuple[Entry, ...]
    """Suspect n, counted from 1 as in `model`, turned state n-1 into state n."""
    undone: int = 0
    """How many commits were left out, because the experiences came back to what they were."""
    harmless: frozenset[int] = frozenset()
    """Suspects that are undone at the bad end, and what undid them."""
    passing: frozenset[int] = frozenset()
    """States that hold what is undone at the bad end: their scores say nothing of what is left."""

    def suspect(self, number: int) -> Entry:
        """Return a suspect by its number, from 1."""
        return self.suspects[number - 1]


def between(loc: Location, good: str, bad: str) -> Range:
    """Return the suspects between two revisions or plans.

    Raises UsageError where `good` does not lie before `bad`, NotFoundError for a name of nothing and where
    both have the same experiences, RepositoryError in a shallow clone.
    """
    need_whole_history(loc)
    start, end = (history.find_commit(loc, name) for name in (good, bad))
    _check_order(loc, (good, start), (bad, end))
    states = [State(start, experiences_at(loc, start))]
    place = {states[0].tree: 0}
    suspects: list[Entry] = []
    entries = list(history.log(loc, f"{start}..{end}"))
    for entry in reversed(entries):
        state = State(entry.commit, experiences_at(loc, entry.commit))
        seen = place.setdefault(state.tree, len(states))
        if seen == len(states):
            states.append(state)
            suspects.append(entry)
            continue
        for gone in states[seen + 1 :]:
            del place[gone.tree]
        del states[seen + 1 :], suspects[seen:]
    if not suspects:
        raise NotFoundError(
            f"{good} and {bad} have the same experiences: no update can have made a difference",
            hint="look at what else changed: agent, model, environment, cases",
        )
    harmless, passing = _undone(timeline.build(loc, end), suspects)
    return Range(tuple(states), tuple(suspects), len(entries) - len(suspects), harmless, passing)


def _undone(found: Timeline, suspects: Sequence[Entry]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the suspects that are undone at the bad end or undid one, and the states between the two."""
    numbers = {entry.commit: number for number, entry in enumerate(suspects, 1)}
    harmless: set[int] = set()
    passing: set[int] = set()
    for entry, number in zip(suspects, numbers.values(), strict=True):
        nodes = [found.nodes[node] for node in found.by_commit.get(entry.commit, ())]
        ends = [numbers.get(node.event, 0) for node in nodes if not node.active]
        if nodes and len(ends) == len(nodes) and min(ends) > number:
            harmless |= {number, *ends}
            passing |= set(range(number, max(ends)))
    return frozenset(harmless), frozenset(passing)


def _check_order(loc: Location, good: tuple[str, str], bad: tuple[str, str]) -> None:
    (good_name, start), (bad_name, end) = good, bad
    if start == end:
        raise UsageError(
            f"{good_name} and {bad_name} are one commit, {start[:12]}", hint="name one from before it broke"
        )
    if not loc.repo.is_ancestor(start, end):
        is_swapped = loc.repo.is_ancestor(end, start)
        raise UsageError(
            f"{good_name} ({start[:12]}) is no ancestor of {bad_name} ({end[:12]})",
            hint="they are the other way round" if is_swapped else f"xp log {bad_name} lists what is",
        )
    if all(commit.id != start for commit in loc.repo.first_parents(end)):
        raise UsageError(
            f"{good_name} ({start[:12]}) came into {bad_name} through a merge and is not on its line",
            hint=f"name a commit that git log --first-parent {bad_name} lists",
        )
