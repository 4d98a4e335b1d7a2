"""What an environment asks of an agent: see the conversation and the tools, say what comes next.

An agent with a model takes the place of a scripted one behind the same Protocols; nothing of a case, its
score or the environment's rules passes through them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pydantic import JsonValue

from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer.asking.tape import Tape
    from trainer.domain import Message
    from trainer.interfaces import RolloutExecutor
    from xpstore.settings import LlmSettings


class ToolSchema(Frozen):
    """A tool as an agent sees it: `parameters` is a JSON schema of an object, as in OpenAI's chat format."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class Agent(Protocol):
    """One agent in one conversation."""

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Message:
        """Return the next message of role `assistant`.

        Its tool parts are pending: the environment answers them. A message without any is for the user.
        """
        ...


class AgentMaker(Protocol):
    """Starts an agent for each conversation."""

    @property
    def name(self) -> str:
        """Name and version, such as `scripted/1`."""
        ...

    @property
    def model(self) -> str:
        """The model behind the agent; empty = none."""
        ...

    def start(self, seed: str, *, training: bool) -> Agent:
        """Return an agent whose choices, as far as it can, depend on the seed and the conversation alone.

        `training` allows it to try what it would not do otherwise.
        """
        ...


class Player(Protocol):
    """Who acts in an environment. What decides its doings has a name here; nothing is open yet."""

    @property
    def name(self) -> str:
        """Name and version of its agents, such as `scripted/1`."""
        ...

    @property
    def model(self) -> str:
        """The model behind them; empty = none."""
        ...

    @property
    def version(self) -> str:
        """The options that change what its agents do, such as `slip_rate=0.03`."""
        ...

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules outside of `trainer.environments` whose code decides what its agents do."""
        ...

    def with_model(self, llm: LlmSettings, tape: Tape | None = None) -> Player:
        """Return the player with the store's model where it needs one and its options do not name it.

        `tape` records what is asked, or replays it. Raises UsageError where nobody names a model.
        """
        ...

    def executor(self, run: Callable[[AgentMaker], RolloutExecutor]) -> RolloutExecutor:
        """Return an executor in which its agents act; `run` makes the environment's own for some agents."""
        ...
