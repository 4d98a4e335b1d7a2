"""The RFC's domain values: cases, rollouts, evaluations, analyses (RFC §3)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, JsonValue

from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import content_id
from xpstore.model import Frozen
from xpstore.plan import PolicyApplyResult, PolicyUpdatePlan
from xpstore.trajectory import Trajectory

if TYPE_CHECKING:
    from xpstore.experience import ExperienceSet

READ = "experiences_read"
"""Key of a rollout's metadata: the names of the experiences that its agent was given or has read."""


class RubricCriterion(Frozen):
    """One thing to check."""

    name: str
    description: str = ""
    required: bool = True
    weight: float = 1.0
    metadata: dict[str, JsonValue] = {}


class Rubric(Frozen):
    """What counts as good, and how it is checked."""

    name: str
    description: str = ""
    criteria: tuple[RubricCriterion, ...] = ()
    metadata: dict[str, JsonValue] = {}


class Case(Frozen):
    """A task that can be run and scored again.

    `input["expected_actions"]`, where present, is a list of `{"name", "arguments"}`: what a perfect
    agent does. It is a training label: it may shape a lesson and is never shown to an agent.
    """

    name: str
    task_signature: str = ""
    input: dict[str, JsonValue] = {}
    rubric: Rubric
    metadata: dict[str, JsonValue] = {}

    @cached_property
    def id(self) -> str:
        """The content id."""
        return content_id(self.model_dump(mode="json"))


class TextPart(Frozen):
    """Plain text of a message."""

    type: Literal["text"] = "text"
    text: str


class ToolPart(Frozen):
    """One tool call with its result (RFC §14.4)."""

    type: Literal["tool"] = "tool"
    tool_id: str
    tool_name: str
    tool_input: JsonValue = {}
    """The arguments: an object, or the raw text where the agent wrote none."""
    tool_output: str = ""
    tool_status: Literal["completed", "error", "pending"] = "completed"


Part = Annotated[TextPart | ToolPart, Field(discriminator="type")]


class Message(Frozen):
    """One turn. Roles as in OpenAI's chat format: system, user, assistant (tool results are ToolParts)."""

    role: str
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join(p.text for p in self.parts if isinstance(p, TextPart))

    @property
    def tools(self) -> tuple[ToolPart, ...]:
        """The tool calls, in order, whoever made them."""
        return tuple(p for p in self.parts if isinstance(p, ToolPart))

    @property
    def calls(self) -> tuple[ToolPart, ...]:
        """The agent's tool calls, in order: in a message of the user they are the user's (dual control)."""
        return () if self.role == "user" else self.tools


class CriterionResult(Frozen):
    """How one criterion came out."""

    criterion_name: str
    passed: bool
    score: float
    feedback: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = {}


class RubricEvaluation(Frozen):
    """How a rollout came out."""

    passed: bool
    score: float
    criterion_results: tuple[CriterionResult, ...] = ()
    feedback: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = {}


class Rollout(Frozen):
    """The recording of one agent working on one case under one policy snapshot."""

    case: Case
    messages: tuple[Message, ...] = ()
    policy_snapshot_id: str = ""
    evaluation: RubricEvaluation | None = None
    metadata: dict[str, JsonValue] = {}

    @cached_property
    def id(self) -> str:
        """The content id of the (redacted) recording: the same rollout has the same id in every file."""
        return content_id(self.model_dump(mode="json"))

    @property
    def tools(self) -> tuple[ToolPart, ...]:
        """All tool calls, in order, whoever made them."""
        return tuple(t for m in self.messages for t in m.tools)

    @property
    def calls(self) -> tuple[ToolPart, ...]:
        """The agent's tool calls, in order."""
        return tuple(t for m in self.messages for t in m.calls)


class RolloutAnalysis(Frozen):
    """What an analyzer made of one rollout: its evaluation and the notes worth keeping."""

    rollout: Rollout
    evaluation: RubricEvaluation
    trajectories: tuple[Trajectory, ...] = ()
    nothing: str = ""
    """Why there is no trajectory, where there is none."""
    metadata: dict[str, JsonValue] = {}


class EditResult(Frozen):
    """What an estimator or its editor made of a group of analyses."""

    gradients: tuple[PatchSemanticGradient, ...] = ()
    nothing: dict[str, str] = {}
    """Rollout id → why it taught nothing."""
    report: dict[str, JsonValue] = {}
    """What was tried, kept and dropped; the learner's own form."""


class RolloutFailure(Frozen):
    """A rollout that one stage could not handle; the run goes on."""

    rollout: str
    case: str
    stage: Literal["receive", "recall", "execute", "analyze", "estimate", "session"]
    """`receive`: it is not taken, since it was forgotten; `recall`: an earlier one that cannot be read;
    `session`: a service did not learn from it."""
    error: str


class Received(Frozen):
    """What a journal made of incoming rollouts."""

    fresh: tuple[Rollout, ...] = ()
    """Not learned before, in the order in which they came, each once."""
    already: tuple[str, ...] = ()
    """Ids of rollouts that were learned before by the same learner."""
    refused: tuple[RolloutFailure, ...] = ()
    """Rollouts that are not taken, such as one that was forgotten here, and earlier ones that are damaged."""
    earlier: tuple[RolloutAnalysis, ...] = ()
    """The evidence that the store already has, without `fresh`, sorted by rollout id."""
    left: tuple[str, ...] = ()
    """Ids of rollouts that are on record and not studied now: more than one run studies (share.py)."""


class RolloutTrainingResult(Frozen):
    """What training on some rollouts did."""

    analyses: tuple[RolloutAnalysis, ...] = ()
    gradients: tuple[PatchSemanticGradient, ...] = ()
    plans: tuple[PolicyUpdatePlan, ...] = ()
    apply_result: PolicyApplyResult
    failures: tuple[RolloutFailure, ...] = ()
    nothing: dict[str, str] = {}
    """Rollout id → why nothing was learned from it."""
    already: tuple[str, ...] = ()
    """Rollouts that were learned before."""
    left: tuple[str, ...] = ()
    """Rollouts that are on record and were not studied."""
    metadata: dict[str, JsonValue] = {}

    @property
    def updated_policy_set(self) -> ExperienceSet:
        """The policy after the update."""
        return self.apply_result.updated_policy_set
