"""The gate as a landing asks it (xpstore/landing.py): it sees exactly the commit that would land."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from trainer.gate.measure import GateOptions, gate
from trainer.store_door import StoreDoor
from xpstore.landing import GateVerdict

if TYPE_CHECKING:
    from pathlib import Path

    from trainer.gate.measure import Gated
    from trainer.rollouts import Progress
    from xpstore.candidate import LandingCandidate


class LandingGate:
    """Measures a candidate when it is called, and keeps what it has found. Not for use in an event loop."""

    def __init__(
        self,
        path: Path,
        store: str | None = None,
        options: GateOptions | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._path, self._store = path, store
        self._options = options or GateOptions()
        self._progress = progress
        self.gated: Gated | None = None
        """The last decision: where the branch moves meanwhile, a landing asks again."""

    def __call__(self, candidate: LandingCandidate) -> GateVerdict:
        """Decide on a candidate. Raises UsageError as `measure.gate`."""
        self.gated = asyncio.run(self._gate(candidate.new, candidate.old))
        return GateVerdict(self.gated.record.decision, self.gated.record.reason)

    async def _gate(self, new: str, old: str) -> Gated:
        async with StoreDoor(self._path, self._store) as door:  # opened now: it sees the packs of the landing
            return await gate(door, new, old, self._options, self._progress)
