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


def of(loc: Location, entries: Sequence[Entry]) -> tuple[HeldPlan, ...]:
    """Return those of a candidate's commits (oldest first, with their side) that are in force at its end."""
    commits = [each for entry in entries for each in (*entry.merged, entry)]
    marked = {
        stamp.plan_id: HeldPlan(stamp.plan_id, each.commit, each.subject, stamp.get("Suspect"))
        for each in commits
        for stamp in each.stamps
        if stamp.get("Suspect")
    }
    if not marked:
        return ()
    now = timeline.of(loc, entries)
    return tuple(plan for plan in marked.values() if now.is_active(plan.plan_id))


def let_in(loc: Location, plans: Sequence[HeldPlan]) -> tuple[str, ...]:
    """Return what goes on record where whoever works here accepts them, a sentence each."""
    return tuple(f"{loc.repo.person().name}{_ACCEPTS}{plan.sentence}" for plan in plans)


def accepted(sentences: Iterable[str]) -> frozenset[str]:
    """Return the ids of the plans that a record says are let in; the other way round than `let_in`."""
    return frozenset(found[1] for each in sentences if (found := _ACCEPTED.search(each)))
