"""Land a candidate: main moves to its plans, all of them or none.

up to date  where main has moved on, the plans are made again on top of it, or merged (reparent.py)
guards      what would land, and whether it may (candidate.py); a suspect plan waits for a person's word
gate        measures exactly the commit that will land; no lock is held, it may take hours
publish     compare-and-swap from where main was; the files of a checked-out branch follow (publish.py)

If main moved meanwhile, all of it happens again, a bounded number of times.

The candidate's own branch moves too, to the commits that landed in the same step: it then is landed for
every program that asks git, and what is committed to it next starts from main. The old commits are in its
reflog. It stays where it is after a merge, where somebody has committed to it meanwhile, and if it is the
store's main, which only ever fast-forwards.
"""

from __future__ import annotations

import random
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from xpstore import (
    candidate,
    evaluation,
    evidence,
    gate_record,
    held_plans,
    kept,
    lock,
    maintain,
    pack,
    publish,
    reparent,
    unfinished,
    witness,
    worktree,
)
from xpstore.candidate import LandingCandidate
from xpstore.errors import RefusedError, RepositoryError, XpError
from xpstore.git import Move
from xpstore.resolution import Asking, UnaskedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xpstore.candidate import Request
    from xpstore.duplicates import Duplicate
    from xpstore.held_plans import OnSuspect
    from xpstore.location import Location
    from xpstore.merge import MergePage
    from xpstore.reparent import Built

Decision = Literal["accept", "reject", "inconclusive"]
State = Literal["landed", "nothing", "rejected", "inconclusive", "suspect"]
Gate: TypeAlias = "Callable[[LandingCandidate], GateVerdict]"
_STATES: dict[Decision, State] = {
    "accept": "landed",
    "reject": "rejected",
    "inconclusive": "inconclusive",
}
ROUNDS = 12
"""How often a landing starts anew because main has moved."""
PATIENCE = 3
"""Rounds after which, without gate and signature, one holds the store lock: our own writers cannot win."""

NOT_ASKED = "no gate was asked"


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


def land(  # noqa: PLR0913  # the options of the verb
    loc: Location,
    branch: str,
    *,
    onto: str = "",
    merge: bool = False,
    gate: Gate | None = None,
    dry_run: bool = False,
    merge_page: MergePage | None = None,
    ungated: str = NOT_ASKED,
    on_suspect: OnSuspect = "hold",
) -> LandingResult:
    """Move main, or the branch `onto`, to what a branch has learned; `merge` makes it one merge commit.

    The branch's commit is read once: what is committed to it later stays out. A dry run asks the gate too.
    Where there is no gate, `ungated` says why, and goes on record with the landing.
    `merge_page` decides pages that both changed, `Asking(resolver)` or a person (by_hand.py); without it, no
    model is asked. It is never called under a lock, and may be asked again where main moves meanwhile.
    Where it has suspect plans (`candidate.suspects`), the state is `suspect` and no gate is asked, unless
    `on_suspect` says otherwise.

    Raises UsageError where there is no such branch; ConflictError where main has changed the same in a way
    that excludes it; RefusedError where it brings what no plan may write, takes most pages away, shares no
    history with main, says what another page says where xp.toml refuses that, or a local change or an
    unfinished merge or rebase is in the way; RepositoryError where main keeps moving. Then nothing has moved.
    """
    asked = candidate.request(loc, branch, onto=onto, is_merge=merge, merge_page=merge_page)
    asking = asked.merge_page if isinstance(asked.merge_page, Asking) else None
    repeated: list[tuple[Duplicate, ...]] = []
    is_slow = gate is not None or loc.config.sign.is_on or loc.config.duplicates.action == "refuse"
    for number in range(ROUNDS):
        is_late = number >= PATIENCE and not is_slow and asking is not None
        if not is_late:
            repeated.clear()
        now = replace(asked, merge_page=asking.known) if is_late and asking else asked
        try:
            with lock.store_lock(loc.repo.common_dir) if is_late else nullcontext():
                result = _round(loc, now, gate or ungated, on_suspect, repeated, dry_run=dry_run)
        except UnaskedError as unasked:  # only under the lock, where no model may be asked
            asked.merge_page(*unasked.question)
            continue
        if result:
            if result.state == "nothing" and not dry_run:
                _settle(loc, asked, result.candidate.old)
            return result
        # S311: jitter, no secret
        time.sleep(random.uniform(0, min(publish.PAUSE, 0.01 * 2**number)))  # noqa: S311
    raise RepositoryError(
        f"{asked.main} moved {ROUNDS} times while {asked.branch} was being landed",
        hint="nothing landed; run it again when fewer others write",
    )


def _round(  # noqa: PLR0913  # what was asked for, and what is known from earlier rounds
    loc: Location,
    asked: Request,
    gate: Gate | str,
    on_suspect: OnSuspect,
    repeated: list[tuple[Duplicate, ...]],
    *,
    dry_run: bool,
) -> LandingResult | None:
    """Land on main as it is now; None where it moved meanwhile. A text says why there is no gate.

    `repeated` keeps what was found out about duplicates for rounds that have no time for it.
    """
    unfinished.check(loc.repo, {asked.ref, asked.main_ref})
    old = candidate.where_to(loc, asked)
    built = reparent.build(loc, asked, old, is_trial=dry_run)
    what = LandingCandidate(
        asked.branch, asked.main, old, built.tip, how=built.how, merges=built.merges, left_out=built.left_out
    )
    if built.tip == old:
        return LandingResult("nothing", replace(what, new=asked.tip, is_landed=True))
    with pack.kept(loc.repo.pack_dir, built.objects):  # guards and gate read them as any other commits
        what = candidate.check(loc, what)
        if what.suspects and on_suspect == "hold":
            return LandingResult("suspect", what)
        if on_suspect == "accept":
            what = replace(what, let_in=held_plans.let_in(loc, what.suspects))
        repeated[:] = repeated or [candidate.repeated(loc, what)]
        what = replace(what, duplicates=repeated[0])
        publish.retried(loc.repo, lambda: _check_files(loc, asked, what), asked.main_ref)
        if loc.tip_of(asked.main_ref) != old:
            return None
        verdict = None if isinstance(gate, str) else gate(what)
        record = None
        if isinstance(gate, str):
            record = gate_record.ungated(loc, what.new, old, gate, what.let_in)
    if verdict and verdict.decision != "accept":
        return LandingResult(_STATES[verdict.decision], what, verdict)
    if not dry_run:
        files = [*built.records, *([gate_record.as_file(record)] if record else [])]
        if not _move(loc, asked, what, built, files):
            return None
        if built.commits:
            # main has landed: a view of scores that cannot be renewed is for xp verify, and must not hide it
            with suppress(XpError, OSError, ValueError, ArithmeticError):
                evaluation.renote(loc, built.commits)
        maintain.after_writing(loc)
    return LandingResult("landed", what, verdict)


def _settle(loc: Location, asked: Request, old: str) -> None:
    """Move a kept plan's branch, or one that a person decided against, to main: nothing of it waits."""
    if isinstance(asked.merge_page, Asking) and not asked.ref.startswith(kept.folder(loc)):
        return

    def attempt() -> bool:
        is_free = asked.ref != loc.main_ref and loc.repo.ref(asked.ref) == asked.tip
        if not is_free or loc.repo.is_ancestor(asked.tip, old):
            return True
        move = Move(asked.ref, asked.tip, old, f"xp land: {asked.main} has all of it")
        return publish.publish(loc.repo, [], [move])

    with suppress(RefusedError):  # a local change is in the way where it is checked out: then it stays
        publish.retried(loc.repo, attempt, asked.ref)


def _follows(loc: Location, asked: Request, what: LandingCandidate) -> bool:
    """Return whether the candidate's branch moves to what landed."""
    is_free = asked.ref != loc.main_ref and loc.repo.ref(asked.ref) == asked.tip
    return is_free and what.how == "re-parented"


def _check_files(loc: Location, asked: Request, what: LandingCandidate) -> Literal[True]:
    """Raise RefusedError where files that are checked out could not follow.

    Under the store lock: files that another writer of ours has just moved ahead of main are no local change.
    """
    with lock.store_lock(loc.repo.common_dir):
        if loc.tip_of(asked.main_ref) != what.old:
            return True  # `_round` starts anew
        here = loc.repo.ref(asked.main_ref)
        worktree.check(worktree.checked_out(loc.repo, asked.main_ref), here, what.new)
        if _follows(loc, asked, what):
            worktree.check(worktree.checked_out(loc.repo, asked.ref), asked.tip, what.new)
    return True


def _move(
    loc: Location,
    asked: Request,
    what: LandingCandidate,
    built: Built,
    files: Sequence[evidence.EvidenceFile],
) -> bool:
    """Move evidence, candidate and main, in this order; False where main is no longer where it was."""
    is_done = False

    def attempt() -> bool:
        nonlocal is_done
        if loc.tip_of(asked.main_ref) != what.old:
            return True
        addition = evidence.add(loc, files, f"Evidence for landing {asked.branch}")
        moves = addition.moves(loc.evidence_ref, f"xp: evidence for {asked.main}")
        if _follows(loc, asked, what):
            moves.append(Move(asked.ref, asked.tip, what.new, f"xp land: re-parented on {asked.main}"))
        here = loc.repo.ref(asked.main_ref)  # None: this clone has main from its remote only
        moves.append(Move(asked.main_ref, here, what.new, f"xp land {asked.branch}: {what.how.capitalize()}"))
        # again in a pack of its own: what only a pack without a ref has, git may have collected meanwhile
        if not publish.publish(loc.repo, [*addition.objects, *built.objects], moves):
            return False
        if addition.objects and addition.new:
            witness.remember(loc, addition.new)
        is_done = True
        return True

    publish.retried(loc.repo, attempt, asked.main_ref)
    return is_done
