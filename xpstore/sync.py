"""Exchange with another repository of the store: fetch, bring together, push all or nothing.

evidence     union of both, without what either has forgotten (union.py)
notes        union of lines
main         fast-forward here or there, whatever the commits are; where both have moved, the plans that only
             this clone has are made again on top of theirs (reparent.py): nobody else has seen those commits.
             What git has to bring together, and what looks like a mistake, is refused first (meeting.py)
candidates   only when asked for; one that was brought up to date here replaces what it was

Where another clone was faster, all of it happens again, a bounded number of times.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import (
    candidate,
    evaluation_notes,
    evidence,
    forget,
    gitcli,
    history,
    layout,
    lock,
    maintain,
    meeting,
    pack,
    programs,
    publish,
    purge,
    remote,
    reparent,
    unfinished,
    union,
    witness,
)
from xpstore.candidate import LandingCandidate, Request
from xpstore.errors import ConflictError, RefusedError, RepositoryError, UsageError
from xpstore.git import Move
from xpstore.remote import Update, tracking_ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.location import Location
    from xpstore.objects import GitObject

ROUNDS = 64
"""How often an exchange starts anew because another clone was faster: of four, three lose each time."""
PAUSE = 0.1
"""The longest pause before that, in seconds: who waits longer loses to those who do not."""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What went which way. Refs by their full names."""

    remote: str
    received: tuple[str, ...]
    """What this clone had not, or not all of."""
    published: tuple[str, ...]
    only_local: tuple[str, ...]
    """Open candidates that the other repository has not, or not all of."""
    forgotten: tuple[str, ...] = ()
    """Rollouts that were forgotten elsewhere, and now here."""


def sync(
    loc: Location, given: str = "", *, branches: Sequence[str] = (), is_exact: bool = False
) -> SyncResult:
    """Exchange main, evidence and notes with a remote, and publish these candidates too.

    `is_exact` publishes main as it is, gated and no other, or not at all. Raises RefusedError where there is
    no remote, a candidate is another one there, main would not be exact, or the repository itself names
    programs to run (programs.py); ConflictError where both have changed the same in ways that exclude each
    other; RepositoryError where the other repository is out of reach or does not take it.
    Then nothing is published, and main is as it was.
    """
    name = remote.choose(loc.repo, loc.config.main, given)
    programs.check(loc.repo, name)
    refs = [loc.branch_ref(branch) for branch in branches]
    for ref in refs:
        if loc.repo.ref(ref) is None or ref == loc.evidence_ref:
            short = ref.removeprefix(layout.HEADS)
            raise UsageError(f"there is no candidate '{short}'", hint="xp status lists the candidates")
    exchange = _Exchange(loc, name, [loc.main_ref, loc.evidence_ref, loc.notes_ref], refs)
    exchange.is_exact = is_exact
    for number in range(ROUNDS):
        result = exchange.once()
        if result:
            return result
        # S311: jitter, no secret
        time.sleep(random.uniform(0, min(PAUSE, 0.01 * 2**number)))  # noqa: S311
    raise RepositoryError(
        f"other clones published to {name} {ROUNDS} times meanwhile",
        hint="what was fetched is here, nothing was published; run it again",
    )


class _Exchange:
    """One exchange and its repetitions."""

    def __init__(self, loc: Location, name: str, shared: Sequence[str], candidates: Sequence[str]) -> None:
        self._loc, self._name = loc, name
        self.is_exact = False
        self._shared, self._candidates = shared, candidates
        self._received: dict[str, None] = {}
        self._forgotten: list[str] = []
        self._doomed: set[str] = set()
        self._dirty: set[str] = set()

    def once(self) -> SyncResult | None:
        """Fetch, bring together, push; None where another clone was faster."""
        loc = self._loc
        there = remote.listing(loc.repo, self._name)
        wanted = [ref for ref in (*self._shared, *self._candidates) if ref in there]
        remote.fetch(loc.repo, self._name, {ref: tracking_ref(self._name, ref) for ref in wanted})
        found = {ref: loc.repo.ref(tracking_ref(self._name, ref)) for ref in wanted}
        theirs = {ref: tip for ref, tip in found.items() if tip}
        if loc.main_ref in theirs:
            meeting.check(loc, self._name, theirs[loc.main_ref])
        self._evidence(theirs.get(loc.evidence_ref))
        self._notes(theirs.get(loc.notes_ref))
        self._main(theirs.get(loc.main_ref))
        updates = [*self._updates(theirs)]
        if updates and not remote.push(loc.repo, self._name, updates):
            return None
        self._remember(updates)
        self._purge()
        has = there | {update.ref: update.new for update in updates}
        open_ = [f"{layout.HEADS}{branch}" for branch in history.candidates(loc)]
        return SyncResult(
            self._name,
            tuple(self._received),
            tuple(update.ref for update in updates),
            tuple(ref for ref in open_ if has.get(ref) != loc.repo.ref(ref)),
            tuple(self._forgotten),
        )

    def _evidence(self, theirs: str | None) -> None:
        loc = self._loc
        if theirs is None:
            return
        ours = loc.repo.ref(loc.evidence_ref)
        for rollout in union.forgotten_there(loc, ours, theirs) if ours else ():
            forget.forget(loc, rollout)
            loc.repo.reopen()
            self._forgotten.append(rollout)

        def attempt() -> bool:
            now = loc.repo.ref(loc.evidence_ref)
            made = union.build(loc, now, theirs) if now else union.Union(theirs)
            if made.doomed:
                self._doomed |= made.doomed
                self._dirty |= {*gitcli.run(loc.repo.place, ["rev-list", theirs]).decode().split()}
            return self._moved(Move(loc.evidence_ref, now, made.tip, self._reason), made.objects)

        publish.retried(loc.repo, attempt, loc.evidence_ref)
        tip = loc.repo.ref(loc.evidence_ref)
        if tip:
            witness.remember(loc, tip)

    def _notes(self, theirs: str | None) -> None:
        loc = self._loc
        if theirs is None:
            return

        def attempt() -> bool:
            made = evaluation_notes.union(loc, theirs)
            return self._moved(Move(loc.notes_ref, made.old, made.new, self._reason), made.objects)

        publish.retried(loc.repo, attempt, loc.notes_ref)

    def _main(self, theirs: str | None) -> None:
        loc, ref = self._loc, self._loc.main_ref
        if theirs is None:
            return

        def attempt() -> bool:
            ours = loc.repo.ref(ref)
            if ours is None or loc.repo.is_ancestor(theirs, ours):
                return True
            if self.is_exact and not loc.repo.is_ancestor(ours, theirs):
                raise RefusedError(
                    f"{loc.config.main} has moved in {self._name}: it would have to be made again on top",
                    hint="start from what is there, and land again; nothing was published",
                )
            unfinished.check(loc.repo, {ref})
            asked = Request(loc.config.main, ref, ours, f"{self._name}/{loc.config.main}", ref)
            try:
                built = reparent.build(loc, asked, theirs)
            except ConflictError as error:
                error.hint = f"`{candidate.rebase_command(asked)}` lets you decide; nothing was published"
                error.kept = ()  # both are main: there is no candidate to resolve
                raise
            with pack.kept(loc.repo.pack_dir, built.objects):
                if built.tip != theirs:
                    candidate.check(loc, LandingCandidate(asked.branch, asked.main, theirs, built.tip))
            addition = evidence.add(loc, built.records, f"Evidence for {self._name}/{loc.config.main}")
            moves = addition.moves(loc.evidence_ref, self._reason)
            moves.append(Move(ref, ours, built.tip, self._reason))
            if not publish.publish(loc.repo, [*addition.objects, *built.objects], moves):
                return False
            self._received[ref] = None
            return True

        publish.retried(loc.repo, attempt, ref, is_slow=loc.config.sign.is_on)

    @property
    def _reason(self) -> str:
        return f"xp sync {self._name}"

    def _moved(self, move: Move, objects: Sequence[GitObject]) -> bool:
        if move.new == move.old:
            return True
        if not publish.publish(self._loc.repo, objects, [move]):
            return False
        self._received[move.ref] = None
        return True

    def _updates(self, theirs: Mapping[str, str]) -> Iterator[Update]:
        repo = self._loc.repo
        for ref in (*self._shared, *self._candidates):
            new, old = repo.ref(ref), theirs.get(ref)
            if new is None or new == old:
                continue
            if old and ref in self._candidates and not repo.is_ancestor(old, new):
                self._check_replaces(ref, old, new)
            yield Update(ref, old, new)

    def _check_replaces(self, ref: str, old: str, new: str) -> None:
        """Refuse to replace a candidate over there that has commits whose plans are not here."""
        loc = self._loc
        known = history.reachable_plan_ids(loc, [new, loc.main_ref])
        for entry in history.log(loc, f"{new}..{old}"):
            if not entry.plan_ids or not known.issuperset(entry.plan_ids):
                short = ref.removeprefix(layout.HEADS)
                raise RefusedError(
                    f"{self._name}/{short} has what {short} has not: {entry.commit[:12]} {entry.subject}",
                    hint=f"git rebase {self._name}/{short} {short}; nothing was published",
                )

    def _remember(self, updates: Sequence[Update]) -> None:
        """Note where the other repository is now; git itself does so for the usual refs only."""
        repo = self._loc.repo
        for update in updates:
            at = tracking_ref(self._name, update.ref)

            def attempt(at: str = at, new: str = update.new) -> bool:
                old = repo.ref(at)
                return old == new or publish.publish(repo, [], [Move(at, old, new, self._reason)])

            publish.retried(repo, attempt, at)

    def _purge(self) -> None:
        """Take what was forgotten here, and came with their history, out of this clone again."""
        repo = self._loc.repo
        if not self._doomed:
            return
        with maintain.alone(repo, wait=True), lock.store_lock(repo.common_dir):
            purge.forget_reflogs(repo, self._dirty)
            purge.purge(repo, set(), self._doomed)
        repo.reopen()
