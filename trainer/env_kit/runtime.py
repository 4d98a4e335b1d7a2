"""What the author of an environment writes: one class that knows cases and runs one rollout (RFC §15.6.4).

The kit does the rest: the endpoints, paging, queueing, limits, a durable store of executions, cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import Case, Rollout
    from xpstore.experience import ExperienceSet


@dataclass(frozen=True, slots=True)
class CaseQuery:
    """Which cases somebody asks for. Empty texts leave it to the runtime."""

    dataset: str = ""
    domain: str = ""
    split: str = ""
    """Such as `train`, `gate` or `test`."""
    filters: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RolloutRequest:
    """One rollout to run."""

    case: Case
    """The runtime's own case, labels and all, where it is one of `cases`; else as the client sent it."""
    experiences: ExperienceSet
    """What the agent may read: the policy at `snapshot_id`, whole. `xpstore.serving.read_for` picks pages."""
    snapshot_id: str
    """Goes into `Rollout.policy_snapshot_id` as it is."""
    seed: int
    """Equal seed, case and policy give an equal rollout, where the environment can."""
    training: bool
    """Whether the rollout is there to be learned from: the agent may explore."""
    options: Mapping[str, JsonValue]
    """The `options` of the request: the runtime's own, such as how many turns an agent has."""
    metadata: Mapping[str, JsonValue]
    """What the client wants to find in `Rollout.metadata`, such as the number of the trial."""


class EnvironmentRuntime(Protocol):
    """An environment as a service offers it. One object serves all requests, many of them at once."""

    @property
    def name(self) -> str:
        """The name, such as `order-desk`."""
        ...

    @property
    def version(self) -> str:
        """What changes whenever a score could: of the environment, its data, its agent, its options."""
        ...

    def cases(self, query: CaseQuery) -> Sequence[Case]:
        """Return all cases that the query asks for, always in the same order; names are unique among them.

        The kit pages them. It is called in a thread. Raises UsageError for a dataset, domain, split or
        filter that there is not.
        """
        ...

    async def run(self, request: RolloutRequest) -> Rollout:
        """Let an agent work on the case and return the recording, with its evaluation.

        It runs in the service's event loop beside others: long work that does not await belongs in a thread
        or a process. It is cancelled where it takes too long, or where the client no longer wants it. An
        exception is an infrastructure failure of this rollout, never a score: its text is told to the client.
        Labels of the case are nothing for the agent to see.
        """
        ...


@runtime_checkable
class TakesInput(Protocol):
    """A runtime that works on cases that it does not know: clients send these fields of their inputs."""

    @property
    def case_input(self) -> Sequence[str]:
        """Keys of `Case.input`, no labels among them."""
        ...


@runtime_checkable
class NamesAgent(Protocol):
    """A runtime that says who acts in it; records of evaluations then name them."""

    @property
    def agent(self) -> str:
        """Name and version of who acts, such as `scripted/1`."""
        ...

    @property
    def model(self) -> str:
        """The model behind the agent; empty = none."""
        ...

    @property
    def simulator(self) -> str:
        """The simulated user; empty = none."""
        ...
