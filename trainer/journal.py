"""The journals: what training saw and decided, kept so that nothing is lost and nothing is learned twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import Received, RolloutFailure
from trainer.recall import analysed_by, read_rollout, size_of, sizes, studied
from trainer.share import share_of
from trainer.trials import stamp_of
from trainer.uses import used_files
from xpstore import evidence, layout, note
from xpstore.errors import FormatError, NotFoundError
from xpstore.events import need_whole_history
from xpstore.inbox import landed
from xpstore.ledger import Event, is_learned, ledgers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from trainer.domain import Rollout, RolloutAnalysis
    from trainer.store_door import StoreDoor
    from trainer.trials import TrialStamp
    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location


class NoJournal:
    """For policies without a store: everything is new, nothing is remembered."""

    async def record(self, rollouts: Sequence[Rollout]) -> None:
        """Keep nothing."""

    async def of_run(self, run_id: str) -> dict[tuple[str, int], str]:
        """Return nothing."""
        del run_id
        return {}

    async def rollout(self, rollout_id: str) -> Rollout:
        """Raise NotFoundError."""
        raise NotFoundError(f"there is no rollout {rollout_id}", hint="nothing is kept here")

    async def receive(self, rollouts: Sequence[Rollout], learner: str, *, again: bool) -> Received:
        """Return each rollout once."""
        del learner, again
        return Received(fresh=tuple({r.id: r for r in rollouts}.values()))

    async def analysed(self, analyses: Sequence[RolloutAnalysis], learner: str) -> None:
        """Keep nothing."""

    async def nothing(self, reasons: Mapping[str, str], learner: str) -> None:
        """Keep nothing."""


class GitJournal:
    """The evidence branch: rollouts, cases, notes, and a ledger of what happened to each rollout.

    A rollout is learned when a plan of the same learner that cites it is reachable from the branch or from
    an open candidate, here or at a remote, or when the learner has said that it teaches nothing. Deleting a
    candidate everywhere frees its own.
    """

    def __init__(self, door: StoreDoor, branch: str, *, dry_run: bool = False) -> None:
        self._door = door
        self._branch = branch
        self._dry_run = dry_run

    async def receive(self, rollouts: Sequence[Rollout], learner: str, *, again: bool) -> Received:
        """Write the rollouts down before anything is made of them; then tell the new ones."""
        offered = {r.id: r for r in rollouts}

        def work(location: Location) -> Received:
            refused = {i: forgotten(r) for i, r in offered.items() if is_forgotten(location, i)}
            unique = {i: r for i, r in offered.items() if i not in refused}
            self._record(location, unique.values())
            reachable = landed(location, self._branch)
            known: set[str] = set()
            earlier: dict[str, Event] = {}
            for i, events in ledgers(location):
                if i in unique and not again and is_learned(events, learner, reachable):
                    known.add(i)
                if (i in known or i not in unique) and (analysed := analysed_by(events, learner)):
                    earlier[i] = analysed
            fresh = [r for i, r in unique.items() if i not in known]
            share = share_of(sizes(location, earlier) | {r.id: size_of(r) for r in fresh})
            recalled, damaged = studied(location, {i: earlier[i] for i in sorted(share & earlier.keys())})
            return Received(
                fresh=tuple(r for r in fresh if r.id in share),
                already=tuple(i for i in unique if i in known),
                refused=(*refused.values(), *damaged),
                earlier=tuple(recalled),
                left=tuple(r.id for r in fresh if r.id not in share),
            )

        return await self._door.call(work)

    async def record(self, rollouts: Sequence[Rollout]) -> None:
        """Write rollouts down; those that were forgotten here are passed over. Raises as `receive`."""

        def work(location: Location) -> None:
            self._record(location, [r for r in rollouts if not is_forgotten(location, r.id)])

        await self._door.call(work)

    async def of_run(self, run_id: str) -> dict[tuple[str, int], str]:
        """Return trial key → rollout id; of two recordings of a trial, the one with the smaller id.

        A recording that cannot be read is passed over: its trial is run again.
        """

        def work(location: Location) -> dict[tuple[str, int], str]:
            found: dict[tuple[str, int], str] = {}
            for i, events in ledgers(location):
                stamp = _stamp(location, i) if _is_of_run(events, run_id) else None
                if stamp is not None:
                    found.setdefault(stamp.key, i)
            return found

        return await self._door.call(work)

    async def rollout(self, rollout_id: str) -> Rollout:
        """Return a recorded rollout. Raises NotFoundError, FormatError."""
        return await self._door.call(lambda location: read_rollout(location, rollout_id))

    def _record(self, location: Location, rollouts: Collection[Rollout]) -> None:
        need_whole_history(location)  # or what was learned, and undone, would be learned again
        new = [r for r in rollouts if evidence.read(location, layout.rollout_path(r.id)) is None]
        self._write(
            location, [f for r in new for f in received_files(r)], f"Receive {len(rollouts)} rollouts"
        )

    async def analysed(self, analyses: Sequence[RolloutAnalysis], learner: str) -> None:
        """Write the notes, and which of them belong to which rollout."""
        files: list[EvidenceFile] = []
        for analysis in analyses:
            files += [evidence.trajectory_file(t.id, note.to_text(t)) for t in analysis.trajectories]
            event: Event = {
                "event": "analysed",
                "learner": learner,
                "passed": analysis.evaluation.passed,
                "score": analysis.evaluation.score,
                "trajectories": [t.id for t in analysis.trajectories],
            }
            files.append(evidence.ledger_file(analysis.rollout.id, event))
        message = f"Note what {len(analyses)} rollouts did"
        await self._door.call(lambda location: self._write(location, files, message))

    async def nothing(self, reasons: Mapping[str, str], learner: str) -> None:
        """Write why, so that the same rollouts are not tried again by the same learner."""
        files = [
            evidence.ledger_file(rollout, {"event": "nothing", "learner": learner, "why": why})
            for rollout, why in sorted(reasons.items())
        ]
        message = f"Record that {len(files)} rollouts taught nothing"
        await self._door.call(lambda location: self._write(location, files, message))

    def _write(self, location: Location, files: Sequence[EvidenceFile], message: str) -> None:
        if files and not self._dry_run:
            evidence.write(location, files, message)


def received_files(rollout: Rollout, mark: Mapping[str, str] | None = None) -> list[EvidenceFile]:
    """Return what is put on record of a rollout that comes in; `mark` says more in the ledger.

    What it read, where that is known, goes along: see trainer/uses.py.
    """
    case, stamp = rollout.case, stamp_of(rollout)
    run = {"run": stamp.run} if stamp else {}
    return [
        evidence.rollout_file(rollout.id, rollout.model_dump(mode="json")),
        evidence.case_file(case.id, case.model_dump(mode="json")),
        evidence.ledger_file(rollout.id, {"event": "received", "case": case.id, **run, **(mark or {})}),
        *used_files(rollout),
    ]


def _is_of_run(events: Sequence[Event], run_id: str) -> bool:
    """Say whether a run recorded the rollout, and the recording is still kept."""
    names = {e["event"] for e in events}
    return "dropped" not in names and any(e["event"] == "received" and e.get("run") == run_id for e in events)


def _stamp(location: Location, rollout_id: str) -> TrialStamp | None:
    """Return the stamp of a recording; None where it has none, or cannot be read."""
    try:
        return stamp_of(read_rollout(location, rollout_id))
    except (FormatError, NotFoundError):  # it says nothing of the run; `receive` and xp verify name it
        return None


def is_forgotten(location: Location, rollout_id: str) -> bool:
    """Say whether a rollout was forgotten in this store."""
    return evidence.read(location, layout.tombstone_path(rollout_id)) is not None


def forgotten(rollout: Rollout) -> RolloutFailure:
    """Return that it is not taken back."""
    error = "it was forgotten in this store and is not taken back"
    return RolloutFailure(rollout=rollout.id, case=rollout.case.name, stage="receive", error=error)
