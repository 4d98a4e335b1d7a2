"""Recorder: puts rollouts on record while others still run; what waits together is written together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.domain import Rollout
    from trainer.interfaces import TrainingJournal


class Recorder:
    """A journal's inbox for many tasks: one write at a time, each with all that came during the last one."""

    def __init__(self, journal: TrainingJournal) -> None:
        self._journal = journal
        self._waiting: list[Rollout] = []
        self._turn = asyncio.Lock()

    async def put(self, rollout: Rollout) -> None:
        """Return when the rollout is durable. Raises what the journal raises."""
        self._waiting.append(rollout)
        async with self._turn:
            batch, self._waiting = self._waiting, []
            if batch:  # else whoever had the turn before took it along
                await self._journal.record(batch)
