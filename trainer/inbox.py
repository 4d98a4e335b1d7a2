"""The inbox of a streaming trainer: what is submitted is durable before anything is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import Received
from trainer.journal import forgotten, is_forgotten, received_files
from trainer.recall import analysed_by, read_analysis, read_rollout, size_of, sizes, studied
from trainer.share import ROLLOUTS, share_of
from xpstore import alive, evidence, inbox, lock
from xpstore.alive import Presence
from xpstore.errors import FormatError, NotFoundError
from xpstore.events import need_whole_history
from xpstore.ledger import is_closed, is_learned, ledgers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from trainer.domain import Rollout, RolloutAnalysis
    from trainer.interfaces import GroupScope
    from trainer.store_door import StoreDoor
    from xpstore.ledger import Event
    from xpstore.location import Location


class NoInbox:
    """For policies without a store: everything is new, nothing is remembered."""

    async def admit(self, rollouts: Sequence[Rollout], learner: str, *, again: bool) -> Received:
        """Return each rollout once."""
        del learner, again
        return Received(fresh=tuple({r.id: r for r in rollouts}.values()))

    async def earlier(self, fresh: Sequence[RolloutAnalysis], learner: str, scope: GroupScope) -> Received:
        """Return that there was nothing."""
        del fresh, learner, scope
        return Received()

    async def noted(self, learner: str) -> frozenset[str]:
        """Return nothing."""
        del learner
        return frozenset()

    async def open(self) -> list[str]:
        """Return nothing."""
        return []

    async def take(self, rollout_id: str, learner: str) -> tuple[Rollout, RolloutAnalysis | None]:
        """Raise NotFoundError."""
        del learner
        raise NotFoundError(f"there is no rollout {rollout_id}", hint="nothing is kept here")

    async def close(self) -> None:
        """Do nothing."""


class GitInbox:
    """The ledger of the evidence branch, seen from one trainer of one branch.

    What it receives carries the branch and a token that tells whether this trainer still lives. Who finds a
    rollout that a living trainer is at leaves it to that one; what a dead one left behind, or what failed
    here, is taken up again. What trainers of other clones received is theirs.
    """

    def __init__(self, door: StoreDoor, branch: str) -> None:
        self._door = door
        self._branch = branch
        self._presence: Presence | None = None

    async def admit(self, rollouts: Sequence[Rollout], learner: str, *, again: bool) -> Received:
        """Write rollouts down in one commit, and tell the new ones.

        `already` has what was learned before, what a person has dropped, and what another trainer that is
        alive is at. Raises what writing evidence raises; nothing was received then.
        """
        offered = {r.id: r for r in rollouts}

        def work(location: Location) -> Received:
            need_whole_history(location)  # or what was learned, and undone, would be learned again
            refused = {i: forgotten(r) for i, r in offered.items() if is_forgotten(location, i)}
            rest = [r for i, r in offered.items() if i not in refused]
            # of two trainers one is first, and what is landing for one that has died meanwhile has landed
            with lock.store_lock(location.repo.common_dir):
                known = set() if again else _known(location, [r.id for r in rest], learner, self._branch)
                open_ = [r for r in rest if r.id not in known]
                busy = {r.id for r in open_ if self._is_held(location, r.id)}
                fresh = [r for r in open_ if r.id not in busy]
                self._receive(location, fresh)
            return Received(
                fresh=tuple(fresh),
                already=tuple(r.id for r in rest if r.id in known | busy),
                refused=tuple(refused.values()),
            )

        return await self._door.call(work)

    async def earlier(self, fresh: Sequence[RolloutAnalysis], learner: str, scope: GroupScope) -> Received:
        """Return what a learner of this scope has to see beside fresh analyses that are on record.

        `earlier` is the evidence, `refused` what of it cannot be read, `left` which of the fresh ones are not
        studied: with all the store's evidence they are more than one run studies (share.py).
        """
        if scope == "rollout":
            return Received()
        own = {a.rollout.id: size_of(a.rollout) for a in fresh}
        cases = {a.rollout.case.id for a in fresh} if scope == "case" else None

        def work(location: Location) -> Received:
            noted = {i: event for i, event in _noted(location, learner, cases) if i not in own}
            around = sizes(location, noted)
            if scope == "case":
                share = share_of(around, rollouts=ROLLOUTS - len(own)) | own.keys()
            else:
                share = share_of(around | own)
            recalled, damaged = studied(location, {i: noted[i] for i in sorted(share & noted.keys())})
            return Received(
                earlier=tuple(recalled),
                refused=tuple(damaged),
                left=tuple(i for i in own if i not in share),
            )

        return await self._door.call(work)

    async def noted(self, learner: str) -> frozenset[str]:
        """Return the rollouts that the learner has notes on."""
        return await self._door.call(
            lambda location: frozenset(i for i, _ in _noted(location, learner, None))
        )

    async def open(self) -> list[str]:
        """Return what is to be taken up for this branch: received here by one that died, or by this one."""

        def work(location: Location) -> list[str]:
            entries = _entries(location)
            return [e.rollout for e in entries if self._branch in e.branches and self._is_mine(location, e)]

        return await self._door.call(work)

    async def take(self, rollout_id: str, learner: str) -> tuple[Rollout, RolloutAnalysis | None]:
        """Return a rollout on record, and the learner's analysis where that is there too.

        Raises NotFoundError, FormatError.
        """

        def work(location: Location) -> tuple[Rollout, RolloutAnalysis | None]:
            analysed = analysed_by(evidence.ledger(location, rollout_id), learner)
            if analysed is not None:
                try:
                    analysis = read_analysis(location, rollout_id, analysed)
                except (FormatError, NotFoundError):  # it is made again
                    return read_rollout(location, rollout_id), None
                return analysis.rollout, analysis
            return read_rollout(location, rollout_id), None

        return await self._door.call(work)

    async def close(self) -> None:
        """Say that this trainer is gone; what it leaves open, the next one takes up."""
        presence, self._presence = self._presence, None
        if presence is None:
            return

        def work(location: Location) -> bool:
            return all(presence.token not in entry.tokens for entry in _entries(location))

        is_done = False
        try:
            is_done = await self._door.call(work)
        finally:
            presence.end(is_done=is_done)

    def _receive(self, location: Location, fresh: Collection[Rollout]) -> None:
        if not fresh:
            return
        if self._presence is None:
            self._presence = Presence(location.repo.common_dir)
        mark = {inbox.BRANCH: self._branch, inbox.TOKEN: self._presence.token}
        files = [file for rollout in fresh for file in received_files(rollout, mark)]
        evidence.write(location, files, f"Receive {len(fresh)} rollouts")

    def _is_held(self, location: Location, rollout_id: str) -> bool:
        events = evidence.ledger(location, rollout_id)
        if inbox.holder(location, inbox.tokens(events), but=self._token) != "alive":
            return False
        return not is_closed(events, _landed(location, [events], self._branch))

    def _is_mine(self, location: Location, entry: inbox.Entry) -> bool:
        """Say whether this trainer has received it, or only trainers that are dead, one of them here."""
        if self._token in entry.tokens:
            return inbox.holder(location, entry.tokens, but=self._token) != "alive"
        return entry.holder == "dead"

    @property
    def _token(self) -> str:
        return self._presence.token if self._presence else ""


def _entries(location: Location) -> list[inbox.Entry]:
    """Return what is open, and clear away the dead who left nothing behind."""
    dead = alive.dead(location.repo.common_dir)
    entries = inbox.entries(location)
    alive.clear(location.repo.common_dir, dead.difference(*(entry.tokens for entry in entries)))
    return entries


def _known(location: Location, ids: Sequence[str], learner: str, branch: str) -> set[str]:
    """Return the rollouts that the learner is done with."""
    found = {i: evidence.ledger(location, i) for i in ids}
    landed = _landed(location, found.values(), branch)
    return {i for i, events in found.items() if is_learned(events, learner, landed)}


def _landed(location: Location, ledgers: Iterable[Sequence[Event]], branch: str) -> frozenset[str]:
    """Return the plans that can be reached; they are only looked for where there is one to find."""
    is_planned = any(e["event"] == "planned" for events in ledgers for e in events)
    return inbox.landed(location, branch) if is_planned else frozenset()


def _noted(location: Location, learner: str, cases: Collection[str] | None) -> Iterator[tuple[str, Event]]:
    """Yield the rollouts that the learner has notes on, with the event; of these cases, or of all."""
    for i, events in ledgers(location):
        if cases is None or any(e["event"] == "received" and e.get("case") in cases for e in events):
            event = analysed_by(events, learner)
            if event is not None:
                yield i, event
