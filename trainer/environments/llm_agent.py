"""An agent with a model behind it: it sees what any agent sees, and replies what the model does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from trainer.asking.abilities import is_too_long
from trainer.asking.chat import ChatError, ChatRequest, Tool
from trainer.asking.prompts import prompt
from trainer.asking.question import AskError
from trainer.environments.llm_messages import chat_messages, read_reply
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.asking.chat import ChatReply
    from trainer.asking.question import Prompt, Usage
    from trainer.domain import Message
    from trainer.environments.agent import ToolSchema
    from trainer.environments.llm_messages import Way

NAME = "llm/1"
"""Name of these agents; the version counts what they do otherwise than before."""
PROMPTS: dict[Way, str] = {"calls": "act", "text": "act_in_text"}
_REFUSED = frozenset({400, 415, 422, 501})


class Converser(Protocol):
    """Goes on with a conversation."""

    async def converse(self, request: ChatRequest) -> tuple[ChatReply, Usage]:
        """Return the next message of a conversation, and what it used. Raises AskError."""
        ...


@dataclass(slots=True)
class Manner:
    """How agents of one run speak to their model."""

    model: str
    temperature: float
    max_tokens: int
    """Of one reply."""
    way: Way = "calls"
    is_known: bool = False
    """Whether the endpoint has taken tools in this way."""


@dataclass(frozen=True)
class LLMAgents:
    """AgentMaker: agents that share a model."""

    converser: Converser
    manner: Manner

    name = NAME

    @property
    def model(self) -> str:
        """The model's name."""
        return self.manner.model

    def start(self, seed: str, *, training: bool) -> LLMAgent:  # noqa: ARG002  # it draws in either case
        """Return an agent; its model draws from the seed where the endpoint can."""
        return LLMAgent(self.converser, self.manner, seed_of(seed))


class LLMAgent:
    """Agent without memory of its own: the conversation is all that the model is told."""

    def __init__(self, converser: Converser, manner: Manner, seed: int) -> None:
        self._converser = converser
        self._manner = manner
        self._seed = seed

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Message:
        """Return the next message. Raises AskError: there is none, which is no doing of the agent's.

        What the model says or refuses is its doing, also where it says nothing. Only a reply that is cut
        before anything in it can be read is none.
        """
        way = self._manner.way
        try:
            reply = await self._asked(messages, tools, way)
        except AskError as error:
            if self._manner.is_known or not _may_be_about_tools(error):
                raise
            way = "text"
            reply = await self._asked(messages, tools, way)
        self._manner.way, self._manner.is_known = way, True
        said = read_reply(reply, 1 + sum(len(m.tools) for m in messages))
        if not said.parts and reply.finish_reason == "length":
            raise AskError(
                "length",
                f"the model's reply was cut at {self._manner.max_tokens} tokens before it said anything",
                hint="raise max_tokens in `[environment.options]` of xp.toml",
            )
        return said

    async def _asked(self, messages: Sequence[Message], tools: Sequence[ToolSchema], way: Way) -> ChatReply:
        request = ChatRequest(
            stage="act",
            about=f"turn {1 + sum(m.role == 'assistant' for m in messages)} of a conversation",
            model=self._manner.model,
            messages=chat_messages(prompt(PROMPTS[way]).system, messages, tools, way),
            max_tokens=self._manner.max_tokens,
            temperature=self._manner.temperature,
            seed=self._seed,
            tools=tuple(Tool(**tool.model_dump()) for tool in tools) if way == "calls" else (),
        )
        return (await self._converser.converse(request))[0]


def seed_of(text: str) -> int:
    """Return a seed that every endpoint takes: 31 bits of a text's hash."""
    return int(content_id(text)[:8], 16) >> 1


def prompts() -> tuple[Prompt, ...]:
    """Return the prompts that decide what these agents do."""
    return tuple(prompt(name) for name in PROMPTS.values())


def _may_be_about_tools(error: AskError) -> bool:
    """Say whether an endpoint may have refused a request because of its tools.

    A recording has no answer to a request with tools where the run knew already that they are refused.
    """
    if error.fault == "replay":
        return True
    if not isinstance(error, ChatError) or is_too_long(error.status, error.said):
        return False
    return error.status in _REFUSED or (error.status >= 500 and "tool" in error.message.lower())
