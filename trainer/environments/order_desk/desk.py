"""The environment as it is installed: a policy that a seed draws, and who acts under it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.environment import code_digest
from trainer.environments.options import Options
from trainer.environments.order_desk.executor import BUDGET, MAX_TURNS, OrderDeskExecutor
from trainer.environments.order_desk.habits import CLERK
from trainer.environments.order_desk.policy import Policy, draw_policy
from trainer.environments.scripted.agent import ScriptedAgents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.asking.tape import Tape
    from trainer.environments.agent import AgentMaker, Player
    from trainer.interfaces import RolloutExecutor
    from xpstore.settings import LlmSettings

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
    player: Player
    turns: int = MAX_TURNS
    """Replies of the agent in one conversation, at most."""
    experience_tokens: int = BUDGET
    """Tokens of experience that the agent is given, at most."""

    name = "order-desk"
    simulator = ""

    @property
    def agent(self) -> str:
        """Name and version of who acts."""
        return self.player.name

    @property
    def model(self) -> str:
        """The model behind the agent; empty = none."""
        return self.player.model

    @property
    def version(self) -> str:
        """Version of the desk, with the options: those with a value of their own."""
        own = [("turns", self.turns, MAX_TURNS), ("experience_tokens", self.experience_tokens, BUDGET)]
        changed = [f"{name}={value}" for name, value, default in own if value != default]
        return " ".join((VERSION, f"seed={self.seed}", self.player.version, *changed))

    @property
    def code(self) -> str:
        """Digest of the source that decides a score."""
        return code_digest(*DECIDING, *self.player.modules)

    @cached_property
    def policy(self) -> Policy:
        """The company's rules: for tests and reports, never for an agent."""
        return draw_policy(self.seed)

    def executor(self) -> RolloutExecutor:
        """Return an executor that bears concurrent calls."""
        return self.player.executor(self._run)

    def _run(self, agents: AgentMaker) -> RolloutExecutor:
        return OrderDeskExecutor(self.policy, agents, turns=self.turns, budget=self.experience_tokens)

    def with_model(self, llm: LlmSettings, tape: Tape | None = None) -> OrderDesk:
        """Return the desk with the store's model if it needs one. Raises UsageError if there is none."""
        return replace(self, player=self.player.with_model(llm, tape))


def make(options: Mapping[str, JsonValue]) -> OrderDesk:
    """Return the environment.

    Options: `seed` draws the rules; `turns` and `experience_tokens` bound a conversation and what the agent
    reads; `agent` is `scripted`, with `slip_rate` (0 to 1: how often it errs), or `llm`, with the options of
    `trainer.environments.llm_player`. Raises TypeError and ValueError for other options and values.
    """
    given = Options(options)
    desk = OrderDesk(
        seed=given.whole("seed", SEED),
        turns=given.whole("turns", MAX_TURNS, least=1),
        experience_tokens=given.whole("experience_tokens", BUDGET, least=0),
        player=_player(given),
    )
    given.check_all_read()
    return desk


def _player(given: Options) -> Player:
    if given.text("agent", "scripted", ("scripted", "llm")) == "llm":
        # without a model, nothing of what speaks to one is loaded
        from trainer.environments.llm_player import LLMPlayer  # noqa: PLC0415

        return LLMPlayer.of(given)
    return ScriptedAgents(CLERK, given.number("slip_rate", SLIP_RATE, least=0, most=1))
