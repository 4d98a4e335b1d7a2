"""Suspect plans come to main with a person's word, whoever pushes: `xp land` asks, a push could go round it.

The word is in a decision of a gate (`let_in`), which is believed as any other (belief.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.belief import Disbelief
from hooks.remark import Remark
from xpstore import held_plans, history

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.belief import Court
    from xpstore.location import Location


def check(loc: Location, old: str, new: str, court: Court, steps: set[str]) -> Iterator[Remark]:
    """Yield the suspect plans that come into force between two commits and that no person has let in.

    `steps` are the trees of experiences on the way. Raises RepositoryError where the history is cut off.
    """
    entries = tuple(reversed(list(history.log(loc.at(new), f"{old}..{new}"))))
    suspects = held_plans.of(loc.at(new), entries, old)
    accepted = _accepted(court, steps) if suspects else frozenset()
    for plan in suspects:
        if plan.plan_id not in accepted:
            text = f"nobody has accepted the suspect plan {plan.sentence}"
            yield Remark(f"the experiences of {loc.config.main} stay: {text}", _HINT)


def _accepted(court: Court, steps: set[str]) -> frozenset[str]:
    """Return the plans that somebody let in with these experiences."""
    said: set[str] = set()
    for found in court.decisions(steps):
        plans = held_plans.accepted(found.record.let_in)
        if not plans - said:
            continue
        try:
            court.check_word(found)
        except Disbelief:
            continue
        said |= plans
    return frozenset(said)


_HINT = (
    "xp land BRANCH --accept-suspect lets it in, on record, and xp sync pushes both;"
    " xp revert PLAN --branch BRANCH takes it out"
)
