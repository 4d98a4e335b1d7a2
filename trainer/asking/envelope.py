"""The protocol's JSON: a request as it is sent, a reply as it comes. Pure; an endpoint may send anything."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from trainer.asking.chat import ChatReply, ToolCall
from xpstore.hashing import mend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from trainer.asking.chat import ChatRequest, Message

MOST_TOKENS = 1 << 40
"""A larger count is a mistake of the endpoint."""


class EnvelopeError(Exception):
    """What came is not a reply of the protocol."""


def body_of(request: ChatRequest) -> dict[str, JsonValue]:
    """Return the body of a request for a chat completion."""
    limit = "max_completion_tokens" if "max_tokens" in request.omit else "max_tokens"
    body: dict[str, JsonValue] = {
        "model": request.model,
        "messages": [_message(m) for m in request.messages],
        limit: request.max_tokens,
    }
    if "temperature" not in request.omit:
        body["temperature"] = request.temperature
    if request.seed is not None and "seed" not in request.omit:
        body["seed"] = request.seed
    if request.response_format is not None:
        body["response_format"] = request.response_format
    if request.tools:
        body["tools"] = [
            {"type": "function", "function": tool.model_dump(mode="json")} for tool in request.tools
        ]
    return body


def _message(message: Message) -> JsonValue:
    made: dict[str, JsonValue] = {"role": message.role, "content": mend(message.content)}
    if message.tool_calls:
        made["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": mend(c.arguments)}}
            for c in message.tool_calls
        ]
    if message.role == "tool":
        made["tool_call_id"] = message.tool_call_id
    return made


def read_reply(text: str) -> ChatReply:
    """Return the first choice of a chat completion. Raises EnvelopeError."""
    data = _object(text)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise EnvelopeError(f"an answer without choices{_reported(data)}")
    usage = data.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return ChatReply(
        text=_content(message.get("content")),
        finish_reason=_text(choice.get("finish_reason")) or "stop",
        refusal=_text(message.get("refusal")),
        tool_calls=tuple(_calls(message.get("tool_calls"))),
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
        model=_text(data.get("model")),
    )


def read_embeddings(text: str, wanted: int) -> list[tuple[float, ...]]:
    """Return the vectors in the order of their texts. Raises EnvelopeError for any other number of them."""
    data = _object(text)
    items = data.get("data")
    found = {}
    for position, item in enumerate(items if isinstance(items, list) else ()):
        vector = item.get("embedding") if isinstance(item, dict) else None
        index = item.get("index", position) if isinstance(item, dict) else None
        if isinstance(vector, list) and isinstance(index, int):
            found[index] = tuple(x for x in map(_number, vector) if x is not None)
    sizes = {len(vector) for vector in found.values()}
    if sorted(found) != list(range(wanted)) or len(sizes) > 1 or 0 in sizes:
        raise EnvelopeError(f"an answer without embeddings{_reported(data)}")
    return [found[index] for index in range(wanted)]


def reported(text: str) -> str:
    """Return what an error's body says, if it says something in the protocol's form; else the text."""
    try:
        return _reported(_object(text)).removeprefix(": ") or text
    except EnvelopeError:
        return text


def _object(text: str) -> dict[str, JsonValue]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        kind = (
            "a web page"
            if text.lstrip()[:1] == "<"
            else "text that is not JSON"
            if text.strip()
            else "nothing"
        )
        raise EnvelopeError(kind) from None
    if not isinstance(data, dict):
        raise EnvelopeError("JSON that is not an object")
    return data


def _reported(data: dict[str, JsonValue]) -> str:
    error = data.get("error", data.get("detail", data.get("message")))
    message = error.get("message") if isinstance(error, dict) else error
    return f": {message}" if isinstance(message, str) and message else ""


def _text(value: JsonValue) -> str:
    return mend(value) if isinstance(value, str) else ""


def _content(value: JsonValue) -> str:
    """Return the text of a message; some endpoints send it in parts."""
    if not isinstance(value, list):
        return _text(value)
    return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))


def _calls(value: JsonValue) -> Iterator[ToolCall]:
    for number, call in enumerate(value if isinstance(value, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict) or not _text(function.get("name")):
            continue
        arguments = function.get("arguments")
        written = _text(arguments) if isinstance(arguments, str) else json.dumps(arguments or {})
        yield ToolCall(
            id=_text(call.get("id")) or f"call_{number}", name=_text(function["name"]), arguments=written
        )


def _count(value: JsonValue) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS
    return int(value) if is_count and isinstance(value, int) else 0


def _number(value: JsonValue) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number and isinstance(value, (int, float)) else None
