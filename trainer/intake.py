"""Intake: files of rollouts, redacted and put on record piece by piece; what one run studies is kept.

Memory: a piece, the share that is studied, and an id of each rollout.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.importers import AS_FOUND, Problem, iter_rollouts, no_rollouts
from trainer.redaction import redact_rollout
from trainer.share import Share
from xpstore.hashing import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from trainer.domain import Rollout
    from trainer.importers import Imported, Reading
    from trainer.journal import GitJournal

PIECE = 8 << 20
"""Bytes of JSON that are put on record at once."""
PIECE_ROLLOUTS = 2_000
"""As many rollouts are put on record at once; short ones weigh many times their JSON in memory."""


@dataclass(slots=True)
class Intake:
    """What some files held."""

    ids: set[str] = field(default_factory=set)
    passed: int = 0
    problems: list[Problem] = field(default_factory=list)
    """Records that could not be read."""
    remarks: list[Problem] = field(default_factory=list)
    """What was read all the same, and what is wrong with the file of scores."""
    unscored: int = 0
    share: Share = field(default_factory=Share)
    """The rollouts that are studied."""


async def take_in(
    paths: Iterable[Path],
    journal: GitJournal,
    progress: Callable[[str, int, int], None] | None,
    reading: Reading = AS_FOUND,
) -> Intake:
    """Read, redact and record every rollout of the files, each once. Raises UsageError where there is none.

    Ids are made from what may be kept, so redaction comes first of all.
    """
    intake = Intake()
    piece: list[Rollout] = []
    size = 0
    items = iter_rollouts(paths, reading)
    # in a thread, so that an interrupt is heard between two rollouts
    while (item := await asyncio.to_thread(_next, items)) is not None:
        if isinstance(item, Problem):
            intake.problems += [item] if item.kind == "broken" else []
            intake.remarks += [item] if item.kind in {"warning", "score"} else []
            continue
        rollout, length = item
        if rollout.id in intake.ids:
            continue
        intake.ids.add(rollout.id)
        intake.passed += rollout.evaluation is not None and rollout.evaluation.passed
        intake.unscored += rollout.evaluation is None
        intake.share.offer(rollout, length)
        piece.append(rollout)
        size += length
        if size > PIECE or len(piece) == PIECE_ROLLOUTS:
            await journal.record(piece)
            piece, size = [], 0
        if progress:
            progress("redact", len(intake.ids), len(intake.ids))
    if not intake.ids:
        raise no_rollouts(intake.problems)
    await journal.record(piece)
    return intake


def _next(items: Iterable[Imported | Problem]) -> tuple[Rollout, int] | Problem | None:
    """Return the next rollout, redacted, with the length of its JSON; None at the end."""
    for item in items:
        if isinstance(item, Problem):
            return item
        clean = redact_rollout(item.rollout)
        return clean, len(canonical_json(clean.model_dump(mode="json")))
    return None
