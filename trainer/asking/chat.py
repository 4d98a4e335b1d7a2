"""One completion of a conversation: what goes to an endpoint and what comes back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import Field, JsonValue

from trainer.asking.question import AskError, Stage
from xpstore.hashing import canonical_json
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.asking.question import Fault

NOT_IN_DIGEST = {"stage", "about", "response_format", "omit"}
"""What does not make another request of it: who asks, and what the endpoint can or cannot read."""


class ToolCall(Frozen):
    """A call of a tool that a model asks for."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it; nobody has checked it."""


class Tool(Frozen):
    """A tool that a model may call."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """JSON schema of an object."""


class Message(Frozen):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    """Of role tool: the call that this is the result of."""


class ChatRequest(Frozen):
    """A request for the next message."""

    stage: Stage
    about: str
    """What it is about, for errors and recordings. Not sent."""
    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    """Tokens that may be written."""
    temperature: float = 0
    seed: int | None = None
    tools: tuple[Tool, ...] = ()
    response_format: dict[str, JsonValue] | None = None
    """As the protocol has it; None = free text."""
    omit: frozenset[str] = frozenset()
    """Parameters that this endpoint does not take; without `max_tokens`, `max_completion_tokens` is sent."""

    @property
    def digest(self) -> str:
        """Names the request in recordings: SHA-256 of what is asked, whatever form the endpoint reads."""
        return hashlib.sha256(canonical_json(self.model_dump(mode="json", exclude=NOT_IN_DIGEST))).hexdigest()


def greeting(model: str) -> ChatRequest:
    """Return what any endpoint can answer at once, to see whether it is there."""
    said = (
        Message(role="system", content="Stage: probe\n\nAnswer with the word yes."),
        Message(role="user", content="Are you there?"),
    )
    return ChatRequest(stage="probe", about="whether it is there", model=model, messages=said, max_tokens=8)


class ChatReply(Frozen):
    """What an endpoint answered. Nothing of it was checked but its shape."""

    text: str = ""
    finish_reason: str = "stop"
    """`stop`, `length`, `tool_calls`, `content_filter`, or whatever an endpoint makes up."""
    refusal: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    prompt_tokens: int = Field(default=0, ge=0)
    """0 where the endpoint does not say."""
    completion_tokens: int = Field(default=0, ge=0)
    model: str = ""
    """As the endpoint reports it."""
    attempts: int = Field(default=1, ge=1)
    """How often it was asked until it answered."""


class ChatError(AskError):
    """The endpoint gave no reply, after all retries."""

    def __init__(
        self, fault: Fault, message: str, *, hint: str = "", status: int = 0, said: str = ""
    ) -> None:
        super().__init__(fault, message, hint=hint)
        self.status = status
        """HTTP status; 0 where there was none."""
        self.said = said
        """What the endpoint said about it, for programs to look through; not for people."""


class Chat(Protocol):
    """An endpoint with chat completions. Bears any number of concurrent calls."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the reply. Raises ChatError."""
        ...


class Embedder(Protocol):
    """An endpoint with embeddings."""

    async def embed(self, texts: Sequence[str], model: str) -> list[tuple[float, ...]]:
        """Return one vector for each text, in order. Raises ChatError, also where there are no embeddings."""
        ...
