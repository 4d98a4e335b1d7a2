"""The environment as it is installed: a policy that a seed draws, and who acts under it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.environment import code_digest
from trainer.environments.order_desk.executor import OrderDeskExecutor
from trainer.environments.order_desk.habits import CLERK
from trainer.environments.order_desk.policy import Policy, draw_policy
from trainer.environments.scripted.agent import ScriptedAgents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.environments.agent import AgentMaker

SEED = 7
SLIP_RATE = 0.03
VERSION = "1"
DECIDING = (
    "trainer.domain",
    "trainer.environments",
    "trainer.offline.condition",
    "trainer.offline.facts",
    "trainer.offline.grammar",
    "trainer.offline.masking",
    "trainer.offline.objects",
    "trainer.rubric",
    "xpstore.document",
    "xpstore.experience",
    "xpstore.frontmatter",
    "xpstore.page_index",
    "xpstore.markdown",
    "xpstore.names",
    "xpstore.search",
    "xpstore.serving",
    "xpstore.suspect",
    "xpstore.wording",
)
"""Modules and packages that decide a score: the cases, tools, agent, what it reads, how that is judged."""


@dataclass(frozen=True)
class OrderDesk:
    """Environment: see `trainer.environment.Environment`."""

    seed: int
    slip_rate: float
    agents: AgentMaker

    name = "order-desk"
    simulator = ""

    @property
    def agent(self) -> str:
        """Name and version of who acts."""
        return self.agents.name

    @property
    def model(self) -> str:
        """The model behind the agent; empty = none."""
        return self.agents.model

    @property
    def version(self) -> str:
        """Version of the desk, with the options."""
        return f"{VERSION} seed={self.seed} slip_rate={self.slip_rate}"

    @property
    def code(self) -> str:
        """Digest of the source that decides a score."""
        return code_digest(*DECIDING)

    @cached_property
    def policy(self) -> Policy:
        """The company's rules: for tests and reports, never for an agent."""
        return draw_policy(self.seed)

    def executor(self) -> OrderDeskExecutor:
        """Return an executor that bears concurrent calls."""
        return OrderDeskExecutor(self.policy, self.agents)


def make(options: Mapping[str, JsonValue]) -> OrderDesk:
    """Return the environment.

    Options: `seed` (whole number) draws the rules, `slip_rate` (0 to 1) is how often an agent errs. Raises
    TypeError and ValueError for other options and values.
    """
    if unknown := sorted(options.keys() - {"seed", "slip_rate"}):
        raise ValueError(f"there is no option {unknown[0]!r}, only seed and slip_rate")
    seed = options.get("seed", SEED)
    slip_rate = options.get("slip_rate", SLIP_RATE)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be a whole number, not {seed!r}")
    if isinstance(slip_rate, bool) or not isinstance(slip_rate, int | float):
        raise TypeError(f"slip_rate must be a number, not {slip_rate!r}")
    if not 0 <= slip_rate <= 1:
        raise ValueError(f"slip_rate must be a number from 0 to 1, not {slip_rate!r}")
    return OrderDesk(seed, float(slip_rate), ScriptedAgents(CLERK, float(slip_rate)))
