"""Plans that wait for a person's word: what they add gives orders to its reader, or comes from who does.

A learner marks them (`Suspect:` in the commit's message) and makes drafts of their pages. They land by a
decision of a person, which goes on record; one that the branch has undone again is out of the question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xpstore import timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xpstore.events import Entry
    from xpstore.location import Location

OnSuspect = Literal["hold", "accept", "ignore"]
"""What a landing does about them: hold = nothing lands; accept = a person lets them in, on record; ignore =
nothing is to land, somebody wants to know what the gate says."""


_ACCEPTS = " accepts the suspect plan "
_ACCEPTED = re.compile(re.escape(_ACCEPTS) + r"(\S+) \(")
"""Looked for from the left: what comes later is the plan's own text, and may say anything."""


@dataclass(frozen=True, slots=True)
class HeldPlan:
    """One such plan."""

    plan_id: str
    commit: str
    subject: str
    why: str

    @property
    def sentence(self) -> str:
        """What is to be said of it."""
        return f"{self.plan_id} ({self.subject}): {self.why}"


def of(loc: Location, entries: Sequence[Entry], old: str) -> tuple[HeldPlan, ...]:
    """Return those that a candidate brings into force: its commits, oldest first, come after commit `old`.

    They are its own, and those that `old` has undone and that it brings back: an undo takes the word back
    too. Raises RepositoryError where it undoes something and the history is cut off.
    """
    commits = [each for entry in entries for each in (*entry.merged, entry)]
    found = _marked(commits)
    if not any(map(timeline.undoes, commits)):  # all of them are in force
        return tuple(found.values())
    now = timeline.build(loc, entries[-1].commit)
    everything = _marked(moment.entry for moment in now.moments)
    before = timeline.build(loc, old) if everything.keys() - found else timeline.Timeline()
    return tuple(
        plan for i, plan in everything.items() if now.is_active(i) and (i in found or not before.is_active(i))
    )


def _marked(commits: Iterable[Entry]) -> dict[str, HeldPlan]:
    """Return all plans that are marked, by id."""
    return {
        stamp.plan_id: HeldPlan(stamp.plan_id, each.commit, each.subject, stamp.get("Suspect"))
        for each in commits
        for stamp in each.stamps
        if stamp.get("Suspect")
    }


def let_in(loc: Location, plans: Sequence[HeldPlan]) -> tuple[str, ...]:
    """Return what goes on record where whoever works here accepts them, a sentence each."""
    return tuple(f"{loc.repo.person().name}{_ACCEPTS}{plan.sentence}" for plan in plans)


def accepted(sentences: Iterable[str]) -> frozenset[str]:
    """Return the ids of the plans that a record says are let in; the other way round than `let_in`."""
    return frozenset(found[1] for each in sentences if (found := _ACCEPTED.search(each)))
