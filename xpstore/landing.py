"""Land a candidate: main fast-forwards to its branch, all of it or not at all.

propose     what would land, and whether it may (candidate.py)
gate        measures exactly the commit that will land; no lock is held, it may take hours
publish     compare-and-swap from where main was; a checked-out main's files follow (publish.py)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from xpstore import candidate, publish, worktree
from xpstore.errors import RefusedError
from xpstore.git import Move

if TYPE_CHECKING:
    from collections.abc import Callable

    from xpstore.candidate import LandingCandidate
    from xpstore.location import Location

Decision = Literal["accept", "reject", "inconclusive"]
State = Literal["landed", "nothing", "rejected", "inconclusive"]
Gate: TypeAlias = "Callable[[LandingCandidate], GateVerdict]"
_STATES: dict[Decision, State] = {
    "accept": "landed",
    "reject": "rejected",
    "inconclusive": "inconclusive",
}


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """What a gate says of a candidate, and why."""

    decision: Decision
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LandingResult:
    """What became of a candidate; in a dry run, what would."""

    state: State
    candidate: LandingCandidate
    verdict: GateVerdict | None = None
    """The gate's; None where there was no gate, or nothing to measure."""


def land(loc: Location, branch: str, *, gate: Gate | None = None, dry_run: bool = False) -> LandingResult:
    """Fast-forward main to a branch; its commit is read once, what is committed to it later stays out.

    The gate decides on what it was given: where main moves while it measures, nothing lands. A dry run asks
    it too. Without one, a candidate that still is a fast-forward of the moved main lands.

    Raises UsageError where there is no such branch, RefusedError where it is no fast-forward, brings what no
    plan may write, or a local change in a checked-out main is in the way; then nothing has moved.
    """
    new = candidate.tip_of(loc, branch)
    proposed = candidate.propose(loc, branch, new)
    verdict = None
    if gate and not proposed.is_landed:
        publish.retried(loc.repo, lambda: _check_files(loc, proposed), loc.main_ref)
        verdict = gate(proposed)
        if verdict.decision != "accept":
            return LandingResult(_STATES[verdict.decision], proposed, verdict)
    done = [proposed]

    def attempt() -> bool:
        now = proposed if loc.tip_of(loc.main_ref) == proposed.old else candidate.propose(loc, branch, new)
        if verdict and not now.is_landed and now.old != proposed.old:
            raise RefusedError(
                f"{now.main} moved while the gate measured {now.branch}: from {proposed.old[:12]} to"
                f" {now.old[:12]}",
                hint="land it again: what lands is what was measured",
            )
        done[:] = [now]
        return now.is_landed or (_check_files(loc, now) if dry_run else _move(loc, now))

    publish.retried(loc.repo, attempt, loc.main_ref)
    return LandingResult("nothing" if done[0].is_landed else "landed", done[0], verdict)


def _check_files(loc: Location, what: LandingCandidate) -> Literal[True]:
    """Raise RefusedError where a checked-out main could not follow."""
    worktree.check(worktree.checked_out(loc.repo, loc.main_ref), loc.repo.ref(loc.main_ref), what.new)
    return True


def _move(loc: Location, what: LandingCandidate) -> bool:
    here = loc.repo.ref(loc.main_ref)  # None: this clone has main from its remote only
    if here not in {what.old, None}:
        return False
    move = Move(loc.main_ref, here, what.new, f"xp land {what.branch}: Fast-forward")
    return publish.publish(loc.repo, [], [move])
