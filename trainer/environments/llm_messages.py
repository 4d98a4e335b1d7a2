"""A conversation of an environment as a chat endpoint reads it, and its reply as the environment does. Pure.

Tools are called in one of two ways. `calls` is the protocol's own. `text` is for endpoints without it: the
tools stand in the instructions, and the model writes JSON. Small local servers take tools and have their
model write JSON all the same, so that is read in either way.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from trainer.asking.answer_text import spoken
from trainer.asking.chat import Message as ChatMessage
from trainer.asking.chat import ToolCall
from trainer.domain import Message, TextPart, ToolPart
from xpstore.hashing import mend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import JsonValue

    from trainer.asking.chat import ChatReply
    from trainer.environments.agent import ToolSchema

Way = Literal["calls", "text"]

MOST_CALLS = 8
"""Calls of one reply; a model that runs wild is cut off there."""
UNREADABLE = "unreadable"
"""The argument under which a model sees again what it wrote and nobody could read."""
_NAMES = ("name", "tool", "function", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args")
_DECODER = json.JSONDecoder(strict=False)  # models write line breaks into strings as they are
MOST_DEPTH = 64
"""Levels of nesting of arguments; no tool has more than a few, and what writes JSON bears some hundred."""
_MOST_STARTS = 64  # braces that are tried as the start of an object


def chat_messages(
    instructions: str, messages: Sequence[Message], tools: Sequence[ToolSchema], way: Way
) -> tuple[ChatMessage, ...]:
    """Return the conversation with all that the environment says at its start in one system message.

    Some templates of models know no second one.
    """
    start = next((n for n, m in enumerate(messages) if m.role != "system"), len(messages))
    told = [m.text for m in messages[:start]]
    if way == "text":
        lines = [json.dumps(tool.model_dump(mode="json"), ensure_ascii=False) for tool in tools]
        told.insert(1, "\n".join(("The tools, each with the schema of its arguments:", *lines)))
    system = ChatMessage(role="system", content="\n\n".join((instructions, *told)))
    turn = _with_calls if way == "calls" else _in_text
    return system, *(made for message in messages[start:] for made in turn(message))


def _with_calls(message: Message) -> Iterator[ChatMessage]:
    if message.role == "assistant":
        calls = tuple(ToolCall(id=p.tool_id, name=p.tool_name, arguments=_written(p)) for p in message.tools)
        yield ChatMessage(role="assistant", content=message.text, tool_calls=calls)
        for part in message.tools:
            yield ChatMessage(role="tool", content=part.tool_output, tool_call_id=part.tool_id)
    else:
        yield ChatMessage(role="system" if message.role == "system" else "user", content=message.text)


def _in_text(message: Message) -> Iterator[ChatMessage]:
    if message.role != "assistant":
        yield from _with_calls(message)
        return
    lines = [message.text] if message.text else []
    lines += [
        f'```json\n{{"name": {json.dumps(p.tool_name)}, "arguments": {_written(p)}}}\n```'
        for p in message.tools
    ]
    yield ChatMessage(role="assistant", content="\n".join(lines))
    if message.tools:
        answers = (f"{part.tool_name} answers:\n{part.tool_output}" for part in message.tools)
        yield ChatMessage(role="user", content="\n\n".join(answers))


def _written(part: ToolPart) -> str:
    """Return the arguments as JSON of an object: endpoints refuse a conversation that holds anything else."""
    given = part.tool_input if isinstance(part.tool_input, dict) else {UNREADABLE: part.tool_input}
    return json.dumps(given, ensure_ascii=False)


def read_reply(reply: ChatReply, number: int) -> Message:
    """Return what a model replied as a message with pending calls, which get the numbers from `number` on.

    The ids that endpoints make up are drawn anew each time; these are not. Arguments that are no JSON object
    stay text, and the environment's tools refuse them. What was thought aloud is neither said nor called.
    """
    parts: list[TextPart | ToolPart] = []
    text, calls = spoken(reply.text), [(c.name, _arguments(c.arguments)) for c in reply.tool_calls]
    if not calls:
        text, calls = _calls_in(text)
    if said := text or reply.refusal.strip():
        parts.append(TextPart(text=said))
    for at, (name, arguments) in enumerate(calls[:MOST_CALLS], number):
        parts.append(
            ToolPart(tool_id=f"call-{at}", tool_name=name, tool_input=arguments, tool_status="pending")
        )
    return Message(role="assistant", parts=tuple(parts))


def _arguments(text: str) -> JsonValue:
    """Return the arguments as an object, or the text where they are none, or have what no JSON can carry."""
    if not text.strip():
        return {}
    try:
        value = _sound(_DECODER.decode(text))
    except (ValueError, RecursionError):
        return mend(text)
    return value if isinstance(value, dict) else mend(text)


def _sound(value: JsonValue, depth: int = MOST_DEPTH) -> JsonValue:
    """Return a value with whole characters only. Raises ValueError for NaN, infinity and too deep nesting."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    if not isinstance(value, (list, dict)):
        return value
    if not depth:
        raise ValueError("nested too deeply")
    if isinstance(value, list):
        return [_sound(item, depth - 1) for item in value]
    return {mend(key): _sound(item, depth - 1) for key, item in value.items()}


def _calls_in(text: str) -> tuple[str, list[tuple[str, JsonValue]]]:
    """Return what a model said before its calls, and the calls that it wrote as JSON, if any."""
    calls: list[tuple[str, JsonValue]] = []
    first = len(text)
    for start, value in _objects(text):
        if found := _calls_of(value):
            calls += found
            first = min(first, start)
    if not calls:
        return text, []
    return text[:first].rstrip("[ \n").removesuffix("json").removesuffix("<tool_call>").rstrip("` \n"), calls


def _objects(text: str) -> Iterator[tuple[int, JsonValue]]:
    """Yield the JSON objects of a text with their places; what is inside of one is part of it.

    One that has what no JSON can carry is prose.
    """
    at = 0
    for _ in range(_MOST_STARTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        with suppress(ValueError):
            yield at, _sound(value)
        at = end


def _calls_of(value: JsonValue) -> list[tuple[str, JsonValue]]:
    """Return tool and arguments of the calls that an object is: it has a name, and arguments of any kind."""
    if not isinstance(value, dict):
        return []
    if isinstance(several := value.get("tool_calls"), list):
        return [call for item in several for call in _calls_of(item)]
    if isinstance(inner := value.get("function"), dict):
        return _calls_of(inner)
    name = next((value[key] for key in _NAMES if key in value), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    if not isinstance(name, str) or not name or arguments is None:
        return []
    return [(name, _arguments(arguments) if isinstance(arguments, str) else arguments)]
