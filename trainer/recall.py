"""What is on record of earlier rollouts, read back: recordings, and what a learner has noted on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from trainer.domain import Rollout, RolloutAnalysis, RolloutFailure, RubricEvaluation
from xpstore import evidence, layout, note
from xpstore.errors import FormatError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.ledger import Event
    from xpstore.location import Location
    from xpstore.trajectory import Trajectory


def analysed_by(events: Sequence[Event], learner: str) -> Event | None:
    """Return the event that a learner wrote its notes on; None where it has none, or they were dropped."""
    if any(e["event"] == "dropped" for e in events):
        return None
    return next((e for e in events if e["event"] == "analysed" and e.get("learner") == learner), None)


def sizes(location: Location, rollouts: Iterable[str]) -> dict[str, int]:
    """Return the sizes of the recordings that are still there."""
    paths = {i: layout.rollout_path(i) for i in rollouts}
    return {i: size for i, path in paths.items() if (size := evidence.size(location, path)) is not None}


def size_of(rollout: Rollout) -> int:
    """Return the bytes of a recording as it is on record."""
    return len(evidence.rollout_file(rollout.id, rollout.model_dump(mode="json")).data)


def studied(
    location: Location, earlier: Mapping[str, Event]
) -> tuple[list[RolloutAnalysis], list[RolloutFailure]]:
    """Read earlier rollouts; one that cannot be read is set aside, and the run says so."""
    studied: list[RolloutAnalysis] = []
    damaged: list[RolloutFailure] = []
    for i, analysed in earlier.items():
        try:
            studied.append(read_analysis(location, i, analysed))
        except (FormatError, NotFoundError) as error:
            why = f"{error.message} ({error.hint})" if error.hint else error.message
            damaged.append(RolloutFailure(rollout=i, case="", stage="recall", error=why))
    return studied, damaged


def read_analysis(location: Location, rollout_id: str, analysed: Event) -> RolloutAnalysis:
    """Read an earlier rollout with a learner's notes on it. Raises FormatError, NotFoundError."""
    rollout = read_rollout(location, rollout_id)
    try:
        evaluation = rollout.evaluation or RubricEvaluation.model_validate(
            {"passed": analysed.get("passed"), "score": analysed.get("score")}
        )
    except ValidationError as error:
        raise _unreadable(location, rollout_id, error) from error
    trajectories = tuple(_trajectories(location, analysed))
    return RolloutAnalysis(rollout=rollout, evaluation=evaluation, trajectories=trajectories)


def read_rollout(location: Location, rollout_id: str) -> Rollout:
    """Read a recording. Raises FormatError, NotFoundError."""
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
