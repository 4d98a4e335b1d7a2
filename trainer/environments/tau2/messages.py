"""A simulation's messages, as tau2 writes them, as messages of a rollout (RFC §14.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.domain import Message, TextPart, ToolPart
from trainer.errors import ComponentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import Part

TOOL_ID = "tau2-tool-"
AGENT, USER, TOOL = "assistant", "user", "tool"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said and done."""

    messages: tuple[Message, ...]
    """Tool results stand in the part of their call; a user who calls tools has tool parts too (telecom)."""
    callers: dict[str, str] = field(default_factory=dict)
    """Tool id → who called: `assistant` or `user`."""

    @property
    def tools_used(self) -> list[str]:
        """The tools that the agent called, each once, in the order of the first calls."""
        own = (t for m in self.messages for t in m.tools if self.callers[t.tool_id] == AGENT)
        return list(dict.fromkeys(tool.tool_name for tool in own))

    @property
    def iterations(self) -> int:
        """How many messages the agent wrote."""
        return sum(message.role == AGENT for message in self.messages)


def conversation_of(simulated: Sequence[Mapping[str, JsonValue]]) -> Conversation:
    """Return the conversation. Tool ids are counted, so that equal simulations make equal rollouts.

    Raises ComponentError for a role that tau2's simulations do not have.
    """
    answers = _answers(simulated)
    messages: list[Message] = []
    callers: dict[str, str] = {}
    for message in simulated:
        role = str(message.get("role"))
        if role == TOOL:
            continue
        if role not in {AGENT, USER}:
            raise ComponentError(f"a simulation has a message of role {role!r}")
        parts: list[Part] = []
        content = message.get("content")
        if isinstance(content, str) and content:
            parts.append(TextPart(text=content))
        for call in _calls(message):
            tool_id = f"{TOOL_ID}{len(callers)}"
            callers[tool_id] = role
            parts.append(_part(tool_id, call, answers.get(_key(role, call))))
        messages.append(Message(role=role, parts=tuple(parts)))
    return Conversation(tuple(messages), callers)


def _answers(
    simulated: Sequence[Mapping[str, JsonValue]],
) -> dict[tuple[str, str], list[Mapping[str, JsonValue]]]:
    """Return (who called, the call's id) → the results, in order: models use an id more than once."""
    found: dict[tuple[str, str], list[Mapping[str, JsonValue]]] = {}
    for message in simulated:
        if message.get("role") == TOOL:
            key = str(message.get("requestor", AGENT)), str(message.get("id"))
            found.setdefault(key, []).append(message)
    for results in found.values():
        results.reverse()  # taken from the end
    return found


def _calls(message: Mapping[str, JsonValue]) -> list[Mapping[str, JsonValue]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _key(role: str, call: Mapping[str, JsonValue]) -> tuple[str, str]:
    return str(call.get("requestor", role)), str(call.get("id"))


def _part(
    tool_id: str, call: Mapping[str, JsonValue], answers: list[Mapping[str, JsonValue]] | None
) -> ToolPart:
    """Return a call with its result; pending where the simulation ended before there was one."""
    answer = answers.pop() if answers else None
    part = ToolPart(
        tool_id=tool_id,
        tool_name=str(call.get("name")),
        tool_input=call.get("arguments") or {},
        tool_status="pending",
    )
    if answer is None:
        return part
    status = "error" if answer.get("error") else "completed"
    return part.model_copy(update={"tool_output": str(answer.get("content") or ""), "tool_status": status})
