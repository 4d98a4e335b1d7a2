"""The gate as a landing asks it (xpstore/landing.py): it sees exactly the commit that would land."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from trainer.gate.decide import least_cases
from trainer.gate.measure import GateOptions, gate
from trainer.store_door import StoreDoor
from trainer.suite import load_suites
from xpstore.landing import GateVerdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from trainer.gate.measure import Gated
    from trainer.rollouts import Progress
    from xpstore.candidate import LandingCandidate
    from xpstore.location import Location


class LandingGate:
    """Measures a candidate when it is called, and keeps what it has found. Not for use in an event loop."""

    def __init__(
        self,
        path: Path,
        store: str | None = None,
        options: GateOptions | None = None,
        progress: Progress | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """`warn` is told, before anything is run, what keeps the gate from deciding."""
        self._path, self._store = path, store
        self._options = options or GateOptions()
        self._progress = progress
        self._warn = warn
        self.gated: Gated | None = None
        """The last decision: where the branch moves meanwhile, a landing asks again."""

    def __call__(self, candidate: LandingCandidate) -> GateVerdict:
        """Decide on a candidate. Raises UsageError as `measure.gate`."""
        self.gated = asyncio.run(self._gate(candidate))
        return GateVerdict(self.gated.record.decision, self.gated.record.reason)

    async def _gate(self, candidate: LandingCandidate) -> Gated:
        new, old = candidate.new, candidate.old
        options = replace(self._options, let_in=candidate.let_in)
        async with StoreDoor(self._path, self._store) as door:  # opened now: it sees the packs of the landing
            few = await door.call(lambda location: too_few(location, old, options))
            if few and self._warn:
                self._warn(few)
            return await gate(door, new, old, options, self._progress)


def too_few(location: Location, against: str, options: GateOptions) -> str:
    """Return that the gate has too few cases to reject anything; "" where it has enough.

    `against` is a commit id. Raises UsageError where there are no cases.
    """
    policy = location.config_at(against).gate
    suite = options.suite or policy.suite
    cases, least = len(load_suites(location, against, suite)[suite]), least_cases(policy.alpha)
    if cases >= least:
        return ""
    return f"suite {suite!r} is too small to reject anything: {cases} of at least {least} cases"
