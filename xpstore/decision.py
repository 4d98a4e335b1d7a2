"""Land a decision of a person (undos, status): planned on the tip, and anew where the tip moved meanwhile.

Where a gate guards the branch, the decision is first a candidate, on a branch that is named after its plan.
The gate sees the commit that the branch would move to, and the branch moves to that very commit. What the
gate does not accept stays on the candidate's branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from xpstore import commit, events, gate_record, publish
from xpstore.candidate import LandingCandidate
from xpstore.errors import ConflictError, HeldError, RepositoryError
from xpstore.git import Move

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xpstore.landing import Gate
    from xpstore.location import Location
    from xpstore.plan import PolicyUpdatePlan

ATTEMPTS = 8
_ID = 8  # digits of the plan in the name of a candidate


class Decision(Protocol):
    """Anything that carries the plans to land."""

    @property
    def plans(self) -> Sequence[PolicyUpdatePlan]:
        """The plans, computed on one tip, each after the one before it."""
        ...


D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, slots=True)
class Gating:
    """How a decision gets to a branch that a gate guards."""

    gate: Gate | None = None
    """None: nothing is measured, `ungated` says why, and it goes on record."""
    ungated: str = ""
    lands: bool = True
    """False: it stays on its branch, for a later `xp land`."""


@dataclass(frozen=True, slots=True)
class Settled(Generic[D]):
    """What was decided, and where it is now."""

    decision: D
    commits: tuple[str, ...]
    branch: str
    """Where it has landed; where it waits, if it was not to land."""
    verdict: str = ""
    """What the gate said, where one was asked."""


def land(loc: Location, branch: str, decide: Callable[[str], D], gating: Gating | None = None) -> Settled[D]:
    """Return the decision that was landed, with its commits: all of them land, or none.

    `decide` gets the tip; what it raises ends it. Without `gating` nothing is asked.

    Raises ConflictError where the plan does not fit the tip that it was made on, HeldError where the gate
    does not accept it, RepositoryError where the branch keeps moving.
    """
    for _ in range(ATTEMPTS):
        tip = events.commit_of(loc, branch)
        decision = decide(tip)
        onto = _candidate(loc, decision.plans) if gating else branch
        try:
            landed = commit.commit(loc, decision.plans, onto, start=tip, is_exact=True)
        except ConflictError:
            if events.commit_of(loc, branch) == tip:
                raise
            continue
        commits = tuple(one.commit for one in landed)
        if gating is None or not gating.lands:
            return Settled(decision, commits, onto)
        what = LandingCandidate(onto, branch, tip, commits[-1])
        verdict = _asked(what, gating)
        if _moved(loc, what, gating):
            return Settled(decision, commits, branch, verdict)
    raise RepositoryError(f"{branch} keeps moving", hint="run it again")


def _candidate(loc: Location, plans: Sequence[PolicyUpdatePlan]) -> str:
    """Return the free name of the candidate's branch; what an earlier try has left there goes."""
    name = f"{loc.candidate_prefix}undo-{plans[0].plan_id[:_ID]}"
    ref = loc.branch_ref(name)
    old = loc.repo.ref(ref)
    if old is not None:
        move = Move(ref, old, None, "xp: decided anew")
        publish.retried(loc.repo, lambda: publish.publish(loc.repo, [], [move]), ref)
    return name


def _asked(what: LandingCandidate, gating: Gating) -> str:
    """Return why the gate accepts it; "" where none is asked. Raises HeldError where it does not."""
    if gating.gate is None:
        return ""
    verdict = gating.gate(what)
    if verdict.decision != "accept":
        raise HeldError(verdict.reason, verdict.decision, what.branch)
    return verdict.reason


def _moved(loc: Location, what: LandingCandidate, gating: Gating) -> bool:
    """Move the branch to the candidate; False where it is no longer where it was."""
    ref, side = loc.branch_ref(what.main), loc.branch_ref(what.branch)
    moves = [
        Move(ref, what.old, what.new, f"xp: landed {what.branch}"),
        Move(side, what.new, None, f"xp: landed on {what.main}"),
    ]
    is_done = False

    def attempt() -> bool:
        nonlocal is_done
        is_done = loc.repo.ref(ref) == what.old and publish.publish(loc.repo, [], moves)
        return is_done or loc.repo.ref(ref) != what.old

    publish.retried(loc.repo, attempt, ref)
    if is_done and gating.gate is None:
        gate_record.write(loc, gate_record.ungated(loc, what.new, what.old, gating.ungated))
    return is_done
