"""Trajectory: the note written after watching a rollout (RFC §3.2), one Markdown file of evidence."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, get_args

from pydantic import JsonValue

from xpstore.hashing import content_id
from xpstore.model import Frozen

TrajectoryOutcome = Literal["success", "failure", "partial", "unfinished", "unknown"]
OUTCOMES: tuple[TrajectoryOutcome, ...] = get_args(TrajectoryOutcome)


class Trajectory(Frozen):
    """What is worth keeping of one rollout, or of one part of it."""

    name: str
    content: str
    outcome: TrajectoryOutcome | str
    retrieval_anchor: str
    """The line that a search for similar work should match."""
    rollout: str
    """Id of the rollout in the evidence branch."""
    metadata: dict[str, JsonValue] = {}

    @cached_property
    def id(self) -> str:
        """The content id: the same note has the same id everywhere."""
        return content_id(self.model_dump(mode="json"))

    @property
    def uri(self) -> str:
        """The path in the evidence branch."""
        return f"trajectories/{self.id[:2]}/{self.id}.md"
