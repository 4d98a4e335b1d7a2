"""What one update did: what was proposed, what was planned of it, and which rollouts taught nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.patch_merge import SAID
from trainer.plan_parts import touching

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import EditResult, RolloutAnalysis, RolloutFailure
    from trainer.engine import Planned
    from xpstore.plan import PolicyUpdatePlan


NO_LESSON = "no lesson that holds cites it"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One update."""

    edits: EditResult
    missed: tuple[RolloutFailure, ...]
    """Members of groups that could not be estimated."""
    planned: Planned
    nothing: dict[str, str]
    """Rollout id → why nothing was learned from it."""
    waiting: dict[str, str] = field(default_factory=dict)
    """Rollout id → why all edits that cite it wait for a decision."""

    @classmethod
    def of(
        cls,
        done: Sequence[RolloutAnalysis],
        edits: EditResult,
        missed: Sequence[RolloutFailure],
        planned: Planned,
    ) -> Outcome:
        """Return what came of these analyses."""
        nothing = _nothing(done, edits, missed) | _said_already(done, edits, planned.plan)
        return cls(edits, tuple(missed), planned, nothing, _refused(done, edits, planned.plan))

    @property
    def metadata(self) -> dict[str, JsonValue]:
        """What learner, plan and result have to say beside it."""
        told = _told(self.planned.plan.metadata, self.planned.result.metadata)
        return {"report": self.edits.report, **told}


def _told(*metadata: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Join what plan and result say; of what both have, tables are joined."""
    joined: dict[str, JsonValue] = {}
    for key, value in (pair for one in metadata for pair in one.items()):
        known = joined.get(key)
        joined[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    return joined


def _nothing(
    done: Sequence[RolloutAnalysis], edits: EditResult, missed: Sequence[RolloutFailure]
) -> dict[str, str]:
    """Return a reason for every analysed rollout that no edit cites and that did not fail."""
    cited = {r for g in edits.gradients for r in g.rollouts} | {f.rollout for f in missed}
    return {
        a.rollout.id: edits.nothing.get(a.rollout.id) or a.nothing or NO_LESSON
        for a in done
        if a.rollout.id not in cited
    }


def _said_already(
    done: Sequence[RolloutAnalysis], edits: EditResult, plan: PolicyUpdatePlan
) -> dict[str, str]:
    """Return a reason for every analysed rollout all of whose edits changed nothing when they were merged."""
    refused = plan.metadata.get("refused")
    open_ = set(refused) if isinstance(refused, dict) else set()
    planned = {g.id for g in touching(plan.items, plan.gradients)}
    used = [g for g in edits.gradients if g.id in planned or g.target_experience_name in open_]
    found = plan.metadata.get("idle")
    idle = found if isinstance(found, dict) else {}
    learned = {r for g in used for r in g.rollouts}
    why = {r: str(idle.get(g.id, SAID)) for g in edits.gradients for r in g.rollouts if r not in learned}
    return {a.rollout.id: why[a.rollout.id] for a in done if a.rollout.id in why}


def _refused(done: Sequence[RolloutAnalysis], edits: EditResult, plan: PolicyUpdatePlan) -> dict[str, str]:
    """Return a reason for every analysed rollout all of whose edits were refused when they were merged."""
    found = plan.metadata.get("refused")
    refused = found if isinstance(found, dict) else {}
    used = {r for g in edits.gradients if g.target_experience_name not in refused for r in g.rollouts}
    why = {
        rollout: f"its edit of {name} was refused: {refused[name]}"
        for g in edits.gradients
        if (name := g.target_experience_name) in refused
        for rollout in g.rollouts
    }
    return {a.rollout.id: why[a.rollout.id] for a in done if a.rollout.id in why.keys() - used}
