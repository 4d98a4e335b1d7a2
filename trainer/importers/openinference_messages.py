"""What the spans of models and tools say, as chat messages in OpenAI's form; what is broken is left out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.importers.jsontext import RecordError, clean, parse
from trainer.importers.openinference import Object, text_at, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from trainer.importers.openinference import Span

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}
_RESULT = "tool_call_response"


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What the span of a tool says."""

    name: str
    call: str
    """The id of the call; "" = not known."""
    arguments: JsonValue
    """None = not known."""
    output: str
    is_error: bool
    span: str
    start: int


def messages_of(span: Span) -> tuple[list[Object], list[Object]]:
    """Return what a model was told and what it said."""
    given, said = (
        [m for item in _list(value_at(span.attributes, "llm", key)) for m in _message(item, role)]
        for key, role in (("input_messages", "user"), ("output_messages", "assistant"))
    )
    system = _list(value_at(span.attributes, "gen_ai", "system_instructions"))
    if not given:
        head: list[JsonValue] = [{"role": "system", "parts": system}] if system else []
        told = [*head, *_list(value_at(span.attributes, "gen_ai", "input", "messages"))]
        given = [m for item in told for m in _parts_message(item, "user")]
    if not said:
        answered = _list(value_at(span.attributes, "gen_ai", "output", "messages"))
        said = [m for item in answered for m in _parts_message(item, "assistant")]
    plain = plain_messages(span)
    return given or plain[0], said or plain[1]


def plain_messages(span: Span) -> tuple[list[Object], list[Object]]:
    """Return input and output of any span, where they are all that is known."""
    asked, answered = (_as_text(value_at(span.attributes, key, "value")) for key in ("input", "output"))
    given: list[Object] = [{"role": "user", "content": asked}] if asked else []
    said: list[Object] = [{"role": "assistant", "content": answered}] if answered else []
    return given, said


def tool_run(span: Span) -> ToolRun:
    """Return what the span of a tool says."""
    about = span.attributes
    given = value_at(about, "gen_ai", "tool", "call", "arguments")
    given = value_at(about, "input", "value") if given is None else given
    output = value_at(about, "gen_ai", "tool", "call", "result")
    output = value_at(about, "output", "value") if output is None else output
    return ToolRun(
        name=text_at(about, "tool", "name")
        or text_at(about, "gen_ai", "tool", "name")
        or span.name
        or "tool",
        call=text_at(about, "tool_call", "id")
        or text_at(about, "tool", "id")
        or text_at(about, "gen_ai", "tool", "call", "id"),
        arguments=given if given is None else arguments_of(given),
        output=_as_text(output) or (span.error if span.is_error else ""),
        is_error=span.is_error,
        span=span.id,
        start=span.start,
    )


def is_cut(span: Span) -> bool:
    """Say whether messages stand in one text that is not whole: it was too long to be kept."""
    places = (value_at(span.attributes, "gen_ai", way, "messages") for way in ("input", "output"))
    return any(isinstance(told, str) and told and not _list(told) for told in places)


def arguments_of(value: JsonValue) -> JsonValue:
    """Return the arguments of a call: the object that a text holds, else the text."""
    if not isinstance(value, str):
        return value
    found = _parsed(value)
    return found if isinstance(found, dict) else value


def text_of(message: Object) -> str:
    """Return what is said in a message."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    return content if isinstance(content, str) else ""


def calls_of(message: Object) -> list[Object]:
    """Return the calls of a message that was made here: each has id, name and arguments."""
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _message(value: JsonValue, role: str) -> Iterator[Object]:
    """Yield a message of OpenInference; none where it says nothing."""
    inner = value_at(value, "message")
    source = inner if isinstance(inner, dict) else value
    if not isinstance(source, dict):
        return
    content = source.get("content")
    parts = [part for item in _list(source.get("contents")) for part in _content(item)]
    calls = [made for item in _list(source.get("tool_calls")) if (made := _call(value_at(item, "tool_call")))]
    old = _made(None, source.get("function_call_name"), source.get("function_call_arguments_json"))
    message: Object = {"role": _role(source.get("role"), role)}
    message["content"] = content if isinstance(content, str) and content else [*parts]
    if content not in (None, "") and not isinstance(content, str):
        message["content"] = _as_text(content)
    if calls or old:
        message["tool_calls"] = [*calls, *([old] if old else [])]
    yield from _finished(message, source.get("tool_call_id"), source.get("name"))


def _finished(message: Object, call: JsonValue, name: JsonValue) -> Iterator[Object]:
    """Yield a message with what a result has besides; nothing where nothing is said."""
    if message["role"] in {"tool", "function"}:
        message["content"] = message["content"] or ""
        message["tool_call_id"] = call if isinstance(call, str) else None
        message["name"] = name if isinstance(name, str) else None
        yield message
    elif message.get("content") or message.get("tool_calls"):
        yield message


def _content(value: JsonValue) -> Iterator[Object]:
    inner = value_at(value, "message_content")
    part = inner if isinstance(inner, dict) else value
    if not isinstance(part, dict):
        return
    kind = str(part.get("type") or "text")
    if kind == "text":
        yield {"type": "text", "text": str(part.get("text") or "")}
    elif kind in {"reasoning", "thinking"}:
        yield {"type": "reasoning", "reasoning": part.get("text")}
    else:
        yield {"type": kind, "url": text_at(part, kind, kind, "url") or text_at(part, kind, "url")}


def _call(call: JsonValue) -> Object | None:
    return _made(
        value_at(call, "id"), value_at(call, "function", "name"), value_at(call, "function", "arguments")
    )


def _made(key: JsonValue, name: JsonValue, arguments: JsonValue) -> Object | None:
    """Return a call; None where it calls nothing."""
    if not isinstance(name, str) or not name:
        return None
    return {"id": key if isinstance(key, str) else "", "name": name, "arguments": arguments_of(arguments)}


def _parts_message(value: JsonValue, role: str) -> Iterator[Object]:
    """Yield a message of the GenAI conventions; each result in it is one of its own."""
    if not isinstance(value, dict):
        return
    message: Object = {"role": _role(value.get("role"), role)}
    content: list[JsonValue] = []
    calls: list[JsonValue] = []
    for part in _list(value.get("parts")):
        kind = text_at(part, "type")
        if kind == "text":
            content.append({"type": "text", "text": _as_text(value_at(part, "content"))})
        elif kind == "reasoning":
            content.append({"type": "reasoning", "reasoning": value_at(part, "content")})
        elif kind == "tool_call":
            made = _made(value_at(part, "id"), value_at(part, "name"), value_at(part, "arguments"))
            calls += [made] if made else []
        elif kind == _RESULT:
            given = value_at(part, "response")
            output = _as_text(value_at(part, "result") if given is None else given)
            yield from _finished({"role": "tool", "content": output}, value_at(part, "id"), None)
        elif kind:
            content.append({"type": kind, "url": text_at(part, "uri")})
    if content or calls:
        told: Object = {**message, "content": content}
        yield from _finished({**told, "tool_calls": calls} if calls else told, None, None)


def _role(value: JsonValue, role: str) -> str:
    named = value.lower()[:40] if isinstance(value, str) and value else role
    return _ROLES.get(named, named)


def _list(value: JsonValue) -> list[JsonValue]:
    """Return a list, also one that stands in a text."""
    found = _parsed(value) if isinstance(value, str) else value
    return found if isinstance(found, list) else []


def _parsed(text: str) -> JsonValue:
    """Return the JSON value of a text; None where it has none."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return clean(parse(text), 50)
    except RecordError:
        return None


def _as_text(value: JsonValue) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
