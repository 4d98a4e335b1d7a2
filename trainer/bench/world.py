"""The world of a benchmark: a service, by what it says of itself; the address is no part of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.bench.artifacts import KeepingExecutor
from trainer.components.remote import RemoteRolloutExecutor
from trainer.environment import World, code_digest
from xpstore.errors import UsageError
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.components.remote import Connect
    from trainer.interfaces import RolloutExecutor
    from trainer.remote.protocol import Health

IDLE = "do-nothing"
"""What the option `agent` of a service is called, and the agent, that gives the floor."""
DECIDING = ("trainer.bench.artifacts", "trainer.bench.world", "trainer.components.remote")


@dataclass(frozen=True)
class BenchEnvironment:
    """Environment: see `trainer.environment.Environment`."""

    health: Health
    connect: Connect
    folder: Path
    """Where rollouts are kept."""
    slice: str
    """Which data it is, such as `tau2/airline`."""
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    """The service's own options of a rollout."""
    time_limit: float | None = None
    """Seconds that one rollout may take."""

    @property
    def name(self) -> str:
        """The name of the service's environment."""
        return self.health.name

    @property
    def is_idle(self) -> bool:
        """Whether its agent does nothing."""
        return self.options.get("agent") == IDLE

    @property
    def agent(self) -> str:
        """Who acts."""
        return f"{IDLE}/1" if self.is_idle else self.health.agent or self.health.name

    @property
    def model(self) -> str:
        """The model behind the agent; empty = none, or not said."""
        return "" if self.is_idle else self.health.model

    @property
    def simulator(self) -> str:
        """The simulated user."""
        return "" if self.is_idle else self.health.simulator

    @property
    def version(self) -> str:
        """The name of the service, and the options: where its code changes, runs are still the same runs."""
        options = [f"{key}={value}" for key, value in sorted(self.options.items())]
        return " ".join(("1", self.health.name, *options))

    @property
    def code(self) -> str:
        """What the service says changes with its scores, and a digest of what stands between it and them."""
        return f"{self.health.version} {code_digest(*DECIDING)}"

    @property
    def id(self) -> str:
        """What a rollout that is kept was made in."""
        world: JsonValue = [self.slice, self.agent, self.model, self.simulator, self.version, self.code]
        return content_id(world)

    def executor(self) -> RolloutExecutor:
        """Return an executor that keeps its rollouts."""
        remote = RemoteRolloutExecutor(self.connect, options=self.options, time_limit=self.time_limit)
        return KeepingExecutor(remote, self.folder, self.id)

    def world(self) -> World:
        """Return the world of the loop."""
        return World(self, self.slice)


def check_service(health: Health, name: str, where: str) -> None:
    """Raise UsageError where a service is another one, or does not say what a score would depend on."""
    if health.name != name:
        raise UsageError(
            f"{where} is the service of {health.name or 'no environment'}, not of {name}",
            hint="--url names the service",
        )
    if not health.version:
        raise UsageError(
            f"{where} does not say its version", hint="no score of it can be kept: `version` in /health"
        )
