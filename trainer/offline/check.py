"""Measures lessons from their Markdown alone: who broke them, who followed them, how both ended.

A second opinion on what a learner or a person wrote: it reads sentences of the grammar and transcripts, no
labels and nothing of how a lesson was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.offline.grammar import parse_lesson
from trainer.stats import Table
from xpstore.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainer.offline.facts import Facts


@dataclass(frozen=True, slots=True)
class Checked:
    """One statement of a file, measured."""

    section: str
    sentence: str
    table: Table | None
    """Failures among those that broke and that followed it; None for a sentence outside the grammar."""
    violates: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    """Ids of the rollouts."""


def check(markdown: str, rollouts: Iterable[Facts]) -> list[Checked]:
    """Return every statement of a file in order; figures only where the lesson applies."""
    known = list(rollouts)
    return [_measured(s.section, s.key, known) for s in Document.parse(markdown).statements()]


def pool(found: Iterable[Checked]) -> Table:
    """Return the tables added up; a rollout counts once per lesson that applies to it."""
    total = Table()
    for checked in found:
        if checked.table is not None:
            total = total.plus(checked.table)
    return total


def _measured(section: str, sentence: str, rollouts: Sequence[Facts]) -> Checked:
    lesson = parse_lesson(sentence)
    if lesson is None:
        return Checked(section, sentence, None)
    broke = [r for r in rollouts if lesson.judge(r) == "violates"]
    kept = [r for r in rollouts if lesson.judge(r) == "follows"]
    table = Table(sum(r.failed for r in broke), len(broke), sum(r.failed for r in kept), len(kept))
    return Checked(section, sentence, table, tuple(r.id for r in broke), tuple(r.id for r in kept))
