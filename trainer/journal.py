"""The journals: what training saw and decided, kept so that nothing is lost and nothing is learned twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from trainer.domain import Received, Rollout, RolloutAnalysis, RolloutFailure, RubricEvaluation
from trainer.share import share_of
from trainer.trials import stamp_of
from xpstore import evidence, layout, note, tracking
from xpstore.errors import FormatError, NotFoundError
from xpstore.events import need_whole_history
from xpstore.history import candidates, reachable_plan_ids
from xpstore.ledger import Event, is_learned, ledgers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from trainer.store_door import StoreDoor
    from trainer.trials import TrialStamp
    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location
    from xpstore.trajectory import Trajectory


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
            refused = {i: _forgotten(r) for i, r in offered.items() if _is_forgotten(location, i)}
            unique = {i: r for i, r in offered.items() if i not in refused}
            self._record(location, unique.values())
            landed = _landed(location, self._branch)
            known: set[str] = set()
            earlier: dict[str, Event] = {}
            for i, events in ledgers(location):
                if i in unique and not again and is_learned(events, learner, landed):
                    known.add(i)
                if (i in known or i not in unique) and (analysed := _analysed(events, learner)):
                    earlier[i] = analysed
            fresh = [r for i, r in unique.items() if i not in known]
            sizes = _sizes(location, earlier) | {r.id: _size(r) for r in fresh}
            share = share_of(sizes)
            studied, damaged = _studied(location, {i: earlier[i] for i in sorted(share & earlier.keys())})
            return Received(
                fresh=tuple(r for r in fresh if r.id in share),
                already=tuple(i for i in unique if i in known),
                refused=(*refused.values(), *damaged),
                earlier=tuple(studied),
                left=tuple(r.id for r in fresh if r.id not in share),
            )

        return await self._door.call(work)

    async def record(self, rollouts: Sequence[Rollout]) -> None:
        """Write rollouts down; those that were forgotten here are passed over. Raises as `receive`."""

        def work(location: Location) -> None:
            self._record(location, [r for r in rollouts if not _is_forgotten(location, r.id)])

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
        return await self._door.call(lambda location: _rollout(location, rollout_id))

    def _record(self, location: Location, rollouts: Collection[Rollout]) -> None:
        need_whole_history(location)  # or what was learned, and undone, would be learned again
        new = [r for r in rollouts if evidence.read(location, layout.rollout_path(r.id)) is None]
        self._write(location, [f for r in new for f in _received(r)], f"Receive {len(rollouts)} rollouts")

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


def _received(rollout: Rollout) -> list[EvidenceFile]:
    case, stamp = rollout.case, stamp_of(rollout)
    run = {"run": stamp.run} if stamp else {}
    return [
        evidence.rollout_file(rollout.id, rollout.model_dump(mode="json")),
        evidence.case_file(case.id, case.model_dump(mode="json")),
        evidence.ledger_file(rollout.id, {"event": "received", "case": case.id, **run}),
    ]


def _is_of_run(events: Sequence[Event], run_id: str) -> bool:
    """Say whether a run recorded the rollout, and the recording is still kept."""
    names = {e["event"] for e in events}
    return "dropped" not in names and any(e["event"] == "received" and e.get("run") == run_id for e in events)


def _stamp(location: Location, rollout_id: str) -> TrialStamp | None:
    """Return the stamp of a recording; None where it has none, or cannot be read."""
    try:
        return stamp_of(_rollout(location, rollout_id))
    except (FormatError, NotFoundError):  # it says nothing of the run; `receive` and xp verify name it
        return None


def _is_forgotten(location: Location, rollout_id: str) -> bool:
    return evidence.read(location, layout.tombstone_path(rollout_id)) is not None


def _forgotten(rollout: Rollout) -> RolloutFailure:
    error = "it was forgotten in this store and is not taken back"
    return RolloutFailure(rollout=rollout.id, case=rollout.case.name, stage="receive", error=error)


def _landed(location: Location, branch: str) -> frozenset[str]:
    refs = {location.config.main, branch, *candidates(location)}
    tips = {tip for ref in refs if (tip := location.tip_of(ref)) is not None}
    tips.update(tracking.below(location.repo, f"{layout.HEADS}{location.candidate_prefix}").values())
    return reachable_plan_ids(location, sorted(tips))


def _analysed(events: Sequence[Event], learner: str) -> Event | None:
    """Return the event that a learner wrote its notes on; None where it has none, or they were dropped."""
    if any(e["event"] == "dropped" for e in events):
        return None
    return next((e for e in events if e["event"] == "analysed" and e.get("learner") == learner), None)


def _sizes(location: Location, rollouts: Iterable[str]) -> dict[str, int]:
    """Return the sizes of the recordings that are still there."""
    paths = {i: layout.rollout_path(i) for i in rollouts}
    return {i: size for i, path in paths.items() if (size := evidence.size(location, path)) is not None}


def _size(rollout: Rollout) -> int:
    return len(evidence.rollout_file(rollout.id, rollout.model_dump(mode="json")).data)


def _studied(
    location: Location, earlier: Mapping[str, Event]
) -> tuple[list[RolloutAnalysis], list[RolloutFailure]]:
    """Read earlier rollouts; one that cannot be read is set aside, and the run says so."""
    studied: list[RolloutAnalysis] = []
    damaged: list[RolloutFailure] = []
    for i, analysed in earlier.items():
        try:
            studied.append(_analysis(location, i, analysed))
        except (FormatError, NotFoundError) as error:
            why = f"{error.message} ({error.hint})" if error.hint else error.message
            damaged.append(RolloutFailure(rollout=i, case="", stage="recall", error=why))
    return studied, damaged


def _analysis(location: Location, rollout_id: str, analysed: Event) -> RolloutAnalysis:
    """Read an earlier rollout with a learner's notes on it. Raises FormatError, NotFoundError."""
    rollout = _rollout(location, rollout_id)
    try:
        evaluation = rollout.evaluation or RubricEvaluation.model_validate(
            {"passed": analysed.get("passed"), "score": analysed.get("score")}
        )
    except ValidationError as error:
        raise _unreadable(location, rollout_id, error) from error
    trajectories = tuple(_trajectories(location, analysed))
    return RolloutAnalysis(rollout=rollout, evaluation=evaluation, trajectories=trajectories)


def _rollout(location: Location, rollout_id: str) -> Rollout:
    data = evidence.read(location, layout.rollout_path(rollout_id))
    if data is None:
        raise NotFoundError(f"there is no rollout {rollout_id} in {location.evidence_ref}")
    try:
        return Rollout.model_validate_json(data)
    except ValidationError as error:
        raise _unreadable(location, rollout_id, error) from error


def _unreadable(location: Location, rollout_id: str, error: ValidationError) -> FormatError:
    first = error.errors(include_url=False, include_input=False)[0]
    why = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
    return FormatError(
        f"rollout {rollout_id} in {location.evidence_ref} cannot be read: {why}",
        hint=f"see xp verify; xp forget {rollout_id} takes it out",
    )


def _trajectories(location: Location, analysed: Event) -> list[Trajectory]:
    ids = analysed.get("trajectories")
    paths = [layout.trajectory_path(str(i)) for i in ids] if isinstance(ids, list) else []
    texts = [(p, data) for p in paths if (data := evidence.read(location, p)) is not None]
    return [note.from_text(data.decode("utf-8", "replace"), path) for path, data in texts]
