"""The JSON between a training run and the service of an environment (RFC §15.6). Values only, no HTTP.

Fields that are not known here are passed over, and null is the same as absent, so that either side may be
newer. What is more than the RFC has is named as such; a service that does not know it works without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from trainer.domain import Case
from trainer.remote.answer import HttpError

if TYPE_CHECKING:
    from typing import TypeVar

    AnyWire = TypeVar("AnyWire", bound="Wire")

QUERY = "/v1/cases/query"
EXECUTE = "/v1/rollouts/execute"
EXECUTIONS = "/v1/rollouts/executions"
HEALTH = "/health"
IDEMPOTENCY_HEADER = "Idempotency-Key"
IDEMPOTENCY = "idempotency_key"
"""Where `execution_context.metadata` has the same key, for a service behind one that drops headers."""
SEED = "seed"
TRAINING = "training"
CASE_ID = "case_id"
"""Where `execution_context.metadata` has the content id of the case without its labels (`values`)."""
OWN_KEYS = frozenset({IDEMPOTENCY, SEED, TRAINING, CASE_ID})
"""Keys of `execution_context.metadata` that belong to the protocol and not to the rollout."""
PINNED = "pinned"
"""`policy_set.metadata` says true where `policies` is all there is: an empty list is then no experience."""
DEFAULT_LIMIT = 100
MOST_LIMIT = 1_000
"""Cases of one page."""
MOST_KEY = 200
"""Characters of an idempotency key, and of an execution id."""

RUNNING = "running"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"
"""Not the RFC's: what a client has taken back."""
UNFINISHED = frozenset({RUNNING, "queued", "pending", "submitted", "accepted"})


class Wire(BaseModel):
    """A piece of a message."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: object) -> object:
        return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


class CriterionJson(Wire):
    """One thing to check."""

    name: str
    description: str = ""
    required: bool = True
    weight: float = 1.0
    metadata: dict[str, JsonValue] = {}


class RubricJson(Wire):
    """What counts as good."""

    name: str
    description: str = ""
    criteria: tuple[CriterionJson, ...] = ()
    metadata: dict[str, JsonValue] = {}


class CaseJson(Wire):
    """A case."""

    name: str = Field(min_length=1)
    task_signature: str = ""
    input: dict[str, JsonValue] = {}
    rubric: RubricJson
    metadata: dict[str, JsonValue] = {}

    def case(self) -> Case:
        """Return the case as a value of this program."""
        return Case.model_validate(self.model_dump(mode="json"))

    @classmethod
    def of(cls, case: Case) -> CaseJson:
        """Return a case as it is sent, with everything that it has."""
        return cls.model_validate(case.model_dump(mode="json"))


class CasesQuery(Wire):
    """Which cases are asked for, and which page of them."""

    dataset: str = ""
    domain: str = ""
    split: str = ""
    cursor: str | None = None
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MOST_LIMIT)
    filters: dict[str, JsonValue] = {}


class CasePage(Wire):
    """One page of cases; without `next_cursor` it is the last one."""

    cases: tuple[CaseJson, ...]
    next_cursor: str | None = None


class PolicyJson(Wire):
    """One experience: the RFC's fields. `front_matter` is not the RFC's."""

    name: str
    uri: str = ""
    version: int = 0
    status: str = "production"
    content: str
    """The Markdown below the front matter."""
    metadata: dict[str, JsonValue] = {}
    """The front matter as values."""
    front_matter: str | None = None
    """The front matter as it stands in the file, so that this and `content` are the file byte by byte."""


class PolicySetJson(Wire):
    """The experiences that an agent may read: all of them here, or where they are."""

    root_uri: str = ""
    policies: tuple[PolicyJson, ...] = ()
    metadata: dict[str, JsonValue] = {}

    @property
    def is_pinned(self) -> bool:
        """Whether these are all experiences there are."""
        return bool(self.policies) or self.metadata.get(PINNED) is True


class ExecutionContextJson(Wire):
    """Under which policy a rollout runs, and what else is to be known of it."""

    policy_snapshot_id: str = ""
    metadata: dict[str, JsonValue] = {}


class ExecuteRequest(Wire):
    """One rollout that is asked for."""

    case: CaseJson
    policy_set: PolicySetJson = PolicySetJson()
    execution_context: ExecutionContextJson = ExecutionContextJson()
    options: dict[str, JsonValue] = {}


class Execution(Wire):
    """The state of one rollout; `rollout` is there where it is completed, `error` where it has failed."""

    execution_id: str = Field(min_length=1, max_length=MOST_KEY)
    status: str
    """running, completed or failed; not the RFC's: cancelled."""
    case_name: str = ""
    created_at: float = 0.0
    """Seconds since 1970."""
    updated_at: float = 0.0
    error: str | None = None
    rollout: dict[str, JsonValue] | None = None
    """A Rollout (RFC §3.4)."""


class Health(Wire):
    """What a service says of itself. All but `status` is not the RFC's."""

    status: str = "ok"
    name: str = ""
    version: str = ""
    """What changes whenever a score could."""
    agent: str = ""
    model: str = ""
    simulator: str = ""
    case_input: tuple[str, ...] = ()
    """Fields of `Case.input` that it wants to be sent; of its own cases it wants the name only."""


def read_wire(value: JsonValue, kind: type[AnyWire], what: str) -> AnyWire:
    """Return a message of this kind. Raises HttpError (wrong answer), which names the first wrong field."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise HttpError("wrong answer", f"{what}: {where}: {first['msg']}") from None
