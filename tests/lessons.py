"""Plans with all of their evidence, for tests of what reads or removes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.builders import make_plan, page, upsert
from xpstore import evidence, note
from xpstore.commit import commit
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import content_id
from xpstore.plan import PolicyUpdatePlan, RolloutRef
from xpstore.trajectory import Trajectory

if TYPE_CHECKING:
    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location


@dataclass(frozen=True)
class Lesson:
    plan: PolicyUpdatePlan
    commit: str
    rollout: str
    trajectory: Trajectory
    case: str


def rollout_of(said: str, case: str = "case") -> dict[str, object]:
    """Return a rollout in which somebody said this."""
    parts = [{"type": "text", "text": said}]
    return {"case": {"name": case}, "messages": [{"role": "user", "parts": parts}], "metadata": {}}


def received(rollout: dict[str, object]) -> tuple[str, Trajectory, list[EvidenceFile]]:
    """Return id, note and evidence files of a rollout that was received and analysed."""
    rollout_id, case_id = content_id(rollout), content_id(rollout["case"])
    said = str(rollout["messages"])
    trajectory = Trajectory(
        name="note",
        content=f"They said: {said}\n",
        outcome="failure",
        retrieval_anchor="a",
        rollout=rollout_id,
    )
    files = [
        evidence.rollout_file(rollout_id, rollout),
        evidence.case_file(case_id, rollout["case"]),  # type: ignore[arg-type]
        evidence.trajectory_file(trajectory.id, note.to_text(trajectory)),
        evidence.ledger_file(rollout_id, {"event": "received", "case": case_id}),
        evidence.ledger_file(
            rollout_id, {"event": "analysed", "learner": "offline/1", "trajectories": [trajectory.id]}
        ),
    ]
    return rollout_id, trajectory, files


def teach(
    loc: Location,
    name: str,
    before: tuple[str, ...] | None,
    after: tuple[str, ...],
    *,
    said: str = "",
    case: str = "case",
    branch: str = "main",
) -> Lesson:
    """Land a plan with one gradient that one rollout supports."""
    rollout = rollout_of(said or f"teach {name} {after}", case)
    rollout_id, trajectory, files = received(rollout)
    old = None if before is None else page(name, *before)
    gradient = PatchSemanticGradient(
        before_file=None if old is None else MemoryFile(name=name, content=old),
        after_file=MemoryFile(name=name, content=page(name, *after)),
        rationale="One rollout failed without it.",
        evidence_trajectory_uris=(trajectory.uri,),
        rollouts=(rollout_id,),
        confidence=0.5,
    )
    plan = make_plan(
        loc,
        upsert(name, page(name, *after), old),
        branch=branch,
        gradients=(gradient,),
        rollouts=(RolloutRef(id=rollout_id, passed=False, score=0.0, case=case),),
    )
    (landed,) = commit(loc, [plan], branch, extra_evidence=files)
    return Lesson(plan, landed.commit, rollout_id, trajectory, content_id(rollout["case"]))
