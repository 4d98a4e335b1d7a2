"""Land a decision of a person (undos, status): planned on the tip, and anew where the tip moved meanwhile.

Where a gate guards the branch, the decision is first a candidate, on a branch that is named after its plan.
The gate sees the commit that the branch would move to, and the branch moves to that very commit. What the
gate does not accept stays on the candidate's branch, and nothing else does. A branch of that name that was
there before is the same candidate only where it has the decision's own commits, and nobody works on it.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from xpstore import (
    commit,
    events,
    evidence,
    gate_record,
    layout,
    publish,
    record,
    tracking,
    trees,
    unfinished,
    witness,
    worktree,
)
from xpstore.candidate import LandingCandidate
from xpstore.errors import ConflictError, HeldError, RefusedError, RepositoryError
from xpstore.git import Busy, Move

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
    does not accept it, RefusedError where somebody works on the candidate's branch, RepositoryError where
    the branch keeps moving. No branch of a candidate is left then, but for what the gate has held.
    """
    for _ in range(ATTEMPTS):
        tip = events.commit_of(loc, branch)
        decision = decide(tip)
        onto = _candidate(loc, decision.plans, tip) if gating else branch
        if not onto:
            continue
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
        with ExitStack() as leaving:
            if any(one.state == "applied" for one in landed):  # else it waited there before
                leaving.callback(_drop, loc, what)
            try:
                verdict = _asked(what, gating)
            except HeldError:
                leaving.pop_all()
                raise
            if _moved(loc, what, gating):
                leaving.pop_all()
                return Settled(decision, commits, branch, verdict)
    raise RepositoryError(f"{branch} keeps moving", hint="run it again")


def _candidate(loc: Location, plans: Sequence[PolicyUpdatePlan], tip: str) -> str:
    """Return the name of the candidate's branch, which has the plans on `tip`, or is free for them.

    "" where another process moves it at this moment. What an earlier try has left there on another tip goes.
    Raises RefusedError where there is more, or
    somebody has it checked out.
    """
    name = f"{loc.candidate_prefix}undo-{plans[0].plan_id[:_ID]}"
    ref = loc.branch_ref(name)
    old = loc.repo.ref(ref)
    if old is None and not tracking.copies(loc.repo, ref):
        return name
    unfinished.check(loc.repo, {ref})
    there = worktree.checked_out(loc.repo, ref)
    if there:
        raise RefusedError(
            f"this was decided before and waits on {name}, which is checked out in {there[0]}",
            hint=f"xp land {quote(name)} lands it; or switch to another branch there and run this again",
        )
    base = old
    if old and not loc.repo.is_ancestor(old, tip):  # else it has nothing of its own: a try was killed
        base = _base(loc, old, plans)
        if base is None:
            raise RefusedError(
                f"this was decided before and waits on {name}, which somebody has committed to since",
                hint=f"xp land {quote(name)} lands all of it; `git branch -m {quote(name)} NAME` keeps it"
                " under another name, and lets this be decided anew",
            )
    if base == tip:
        return name
    move = Move(ref, old, tip, "xp: decided anew")

    def attempt() -> bool:
        return loc.repo.ref(ref) != old or publish.publish(loc.repo, [], [move])

    publish.retried(loc.repo, attempt, ref)
    return name if loc.repo.ref(ref) == tip else ""


def _base(loc: Location, at: str, plans: Sequence[PolicyUpdatePlan]) -> str | None:
    """Return the commit that these plans, and nothing else, lead from to `at`; None where they do not."""
    line = [loc.repo.commit(at)]
    for _ in plans:
        if len(line[-1].parents) != 1:
            return None
        line.append(loc.repo.commit(line[-1].parents[0]))
    base = line[-1]
    folder = loc.at(base.id).in_tree(layout.EXPERIENCES)
    for plan, made, before in zip(reversed(plans), line, line[1:], strict=False):
        rendered = record.render(plan.model_copy(update={"base_commit": base.id}))
        changes = {
            f"{folder}/{item.target_experience_name}.md": None
            if item.after_content is None
            else item.after_content.encode()
            for item in plan.items
        }
        is_own = made.message.strip() == rendered.message.strip()
        if not is_own or trees.splice(loc.repo.read_tree, before.tree, changes).tree != made.tree:
            return None
    return base.id


def _drop(loc: Location, what: LandingCandidate) -> None:
    """Remove the candidate's branch, if it is as it was made and nobody has it checked out."""
    side = loc.branch_ref(what.branch)
    if not worktree.checked_out(loc.repo, side):
        with suppress(Busy):  # then it is in use, and stays
            publish.publish(loc.repo, [], [Move(side, what.new, None, "xp: not landed")])


def _asked(what: LandingCandidate, gating: Gating) -> str:
    """Return why the gate accepts it; "" where none is asked. Raises HeldError where it does not."""
    if gating.gate is None:
        return ""
    verdict = gating.gate(what)
    if verdict.decision != "accept":
        raise HeldError(verdict.reason, verdict.decision, what.branch)
    return verdict.reason


def _moved(loc: Location, what: LandingCandidate, gating: Gating) -> bool:
    """Move the branch to the candidate; False where it is no longer where it was.

    That nothing was measured goes on record with it. Raises RefusedError where the candidate's branch is no
    longer what was measured.
    """
    ref, side = loc.branch_ref(what.main), loc.branch_ref(what.branch)
    records = [] if gating.gate else [gate_record.ungated(loc, what.new, what.old, gating.ungated)]
    files = [gate_record.as_file(record) for record in records]
    is_done = False

    def attempt() -> bool:
        nonlocal is_done
        waiting = loc.repo.ref(side)  # read first: who lands the same decision moves the branch before it
        if loc.tip_of(ref) != what.old:
            return True
        if waiting != what.new:
            how = "deleted" if waiting is None else "moved"
            raise RefusedError(
                f"{what.branch} was {how} meanwhile; {what.main} stays where it was",
                hint="run it again"
                if waiting is None
                else f"xp land {quote(what.branch)} lands what it has now",
            )
        addition = evidence.add(loc, files, f"Evidence for landing {what.branch}")
        moves = addition.moves(loc.evidence_ref, f"xp: evidence for {what.main}")
        moves.append(Move(ref, loc.repo.ref(ref), what.new, f"xp: landed {what.branch}"))
        if not worktree.checked_out(loc.repo, side):
            moves.append(Move(side, what.new, None, f"xp: landed on {what.main}"))
        is_done = publish.publish(loc.repo, addition.objects, moves)
        if is_done and addition.objects and addition.new:
            witness.remember(loc, addition.new)
        return is_done

    publish.retried(loc.repo, attempt, ref)
    return is_done
