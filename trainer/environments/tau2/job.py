"""One simulation to run, what came of it, and the time it has."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from trainer.environments.tau2.scoring import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.environments.tau2.reading import Reader


class Clock:
    """The time of one simulation. Who is about to ask a model asks the clock first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = monotonic() + seconds
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let the simulation end before its next question; from any thread."""
        self._stopped.set()

    def left(self, most: float) -> float:
        """Return the seconds that a question may take, at most `most`. Raises InfrastructureError: none."""
        if self._stopped.is_set():
            raise InfrastructureError("the simulation was cancelled")
        left = self._end - monotonic()
        if left <= 0:
            raise InfrastructureError(f"the simulation took longer than {self._seconds:g} s")
        return min(left, most)


@dataclass(frozen=True, slots=True)
class Job:
    """What to simulate."""

    domain: str
    task: Mapping[str, JsonValue]
    """As tau2 writes it, labels and all: for the environment and the evaluator, never for the agent."""
    policy: str
    """What the agent has to go by; empty = the domain's own."""
    reader: Reader
    seed: int
    max_steps: int
    clock: Clock


@dataclass(slots=True)
class Use:
    """What one model was asked for in a simulation."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    def add(self, usage: Mapping[str, JsonValue] | None, cost: float | None) -> None:
        """Count one answer; `usage` has `prompt_tokens` and `completion_tokens`."""
        found = usage or {}
        self.calls += 1
        self.prompt_tokens += _count(found.get("prompt_tokens"))
        self.completion_tokens += _count(found.get("completion_tokens"))
        self.cost += cost or 0.0

    def as_json(self, prompt_price: float, completion_price: float) -> dict[str, JsonValue]:
        """Return the figures; prices, per million tokens, replace what the client library has counted."""
        cost = self.cost
        if prompt_price or completion_price:
            cost = (self.prompt_tokens * prompt_price + self.completion_tokens * completion_price) / 1e6
        return {
            "calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": cost,
        }


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of a job."""

    messages: Sequence[Mapping[str, JsonValue]]
    """As tau2 writes them."""
    reason: str
    """tau2's termination reason."""
    reward: Mapping[str, JsonValue] | None
    """tau2's reward information, labels in it; None where it could not check the end."""
    problem: str = ""
    """Why it could not."""
    recalled: tuple[str, ...] = ()
    """The pages that the agent was given."""
    use: dict[str, Use] = field(default_factory=dict)
    """`agent`, `user`, `judge` → what it was asked for."""


def _count(value: JsonValue) -> int:
    return value if isinstance(value, int) and value > 0 else 0
