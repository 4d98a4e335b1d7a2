"""How a lesson and its evidence stand in a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trainer.offline.masking import words
from trainer.offline.outcomes import FAILED
from trainer.stats import Table, difference_interval

if TYPE_CHECKING:
    from trainer.offline.learn import Learned

_NAMES = re.compile(r"`([^`]+)`")
_GENERIC = frozenset({"id", "at", "no", "yes", "get", "name", "type", "of", "the"})
_STEM = 5  # letters that tell `cancel` from `cancelled` no more
_OVERLAP = 0.75


def evidence(learned: Learned, *, instructed: bool) -> str:
    """Return the evidence line below a lesson (the only place of figures), without its indentation."""
    count = len(learned.support)
    parts = [
        f"Support: {count} {'rollout' if count == 1 else 'rollouts'} in {learned.cases} cases.",
        f"Left out: {_plain(learned.left_out_failed)}.",
    ]
    if learned.outcome != FAILED:
        parts.append(_sharper(learned))
    if instructed:
        parts.append("The instructions say it; it was broken all the same.")
    return f"*{' '.join(parts)}*"


def statement(learned: Learned, *, instructed: bool) -> str:
    """Return the list item of a lesson with its evidence."""
    return f"- {learned.lesson.sentence()}\n  {evidence(learned, instructed=instructed)}"


def rationale(learned: Learned) -> str:
    """Return why the lesson is proposed, in a sentence or two with the figures."""
    count = len(learned.support)
    plain = _plain(learned.left_out_failed)
    text = f"{count} rollouts in {learned.cases} cases support it. On left-out cases {plain}."
    if learned.outcome == FAILED:
        return text
    return f"{text} {_sharper(learned)}"


def interval(table: Table) -> str:
    """Return difference and interval in points, such as `+50 points, 95 % interval +21 to +70`."""
    low, high = difference_interval(table)
    return f"{_points(table.difference)} points, 95 % interval {_points(low)} to {_points(high)}"


def confidence(table: Table) -> float:
    """Return the lower end of the 95 % interval of the difference, moved from [-1, 1] to [0, 1]."""
    return round(max(0.0, min(1.0, 0.5 + difference_interval(table)[0] / 2)), 3)


def is_instructed(sentence: str, instructions: str) -> bool:
    """Say whether one sentence of the instructions has most words that the lesson's names are made of."""
    wanted = {w[:_STEM] for name in _NAMES.findall(sentence) for w in words(name) if w not in _GENERIC}
    if len(wanted) < 3:
        return False
    for line in re.split(r"[.!?]\s|\n", instructions):
        found = {w[:_STEM] for w in re.findall(r"[^\W\d_]+", line.lower())}
        if len(wanted & found) >= _OVERLAP * len(wanted):
            return True
    return False


def _plain(table: Table) -> str:
    if not table.broke and not table.kept:
        return "nobody scored those that broke it, or followed it"
    return (
        f"{table.broke_bad} of {table.broke} that broke it failed, {table.kept_bad} of {table.kept} "
        f"that followed it failed; {interval(table)}"
    )


def _sharper(learned: Learned) -> str:
    """Return the figures of the outcome that the lesson is about: why it failed, where that is known."""
    table = learned.left_out
    return (
        f"{_saying(learned.outcome)}: {table.broke_bad} of {table.broke} that broke it, {table.kept_bad} of "
        f"{table.kept} that followed it; {interval(table)}."
    )


def _points(share: float) -> str:
    return f"{round(100 * share):+d}"


def _saying(outcome: str) -> str:
    kind, _, rest = outcome.partition(" ")
    if outcome == "left out":
        return "Failed for want of a needed call"
    if kind == FAILED:
        return f"Failed `{rest}`"
    return "Refused so"
