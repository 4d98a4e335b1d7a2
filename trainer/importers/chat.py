"""Chat messages of other programs become `Message`s: each tool call and its result are one `ToolPart`.

Read are OpenAI's form (`tool_calls` with `role: tool`, the older `function_call` with `role: function`,
content as text or as a list of parts) and the `tool_use` / `tool_result` parts that Anthropic's form has.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from trainer.domain import Message, TextPart, ToolPart
from trainer.importers.jsontext import RecordError, as_list, as_object, parse
from trainer.importers.media import named

if TYPE_CHECKING:
    from pydantic import JsonValue

_LOOKS_LIKE_ERROR = re.compile(
    r"""\s*(?:
        \w*(?:Error|ERROR|Exception)\s*[:\uFF1A]      # Error: …, ValueError: …
      | Error\ (?:executing|calling|while|occurred)\b
      | Traceback\ \(most\ recent\ call\ last\)
      | 错误\s*[:\uFF1A]
      | \{\s*"error"\s*:\s*+(?!null|false|"")          # {"error": "…"}
    )""",
    re.VERBOSE,
)
_THOUGHT_PARTS = {
    "thinking": "thinking",
    "reasoning": "reasoning",
    "redacted_thinking": "",
    "redacted_reasoning": "",
}
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_MEDIA_PARTS = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file", "document"}
)
_READ_KEYS = {"role", "content", "tool_calls", "function_call", "tool_call_id"}
_RESULT_ROLES = {"tool", "function"}
NO_CALL = "(answers no call)"
"""The `tool_call_id` of a result that answers no call: it stays as text in the role `tool`."""


@dataclass(slots=True)
class _Call:
    """A tool call that waits for its result."""

    tool_id: str
    name: str
    arguments: JsonValue
    output: str | None = None
    failed: bool = False

    def part(self) -> ToolPart:
        status: Literal["completed", "error", "pending"] = "completed"
        if self.output is None:
            status = "pending"
        elif self.failed or _LOOKS_LIKE_ERROR.match(self.output):
            status = "error"
        return ToolPart(
            tool_id=self.tool_id,
            tool_name=self.name,
            tool_input=self.arguments,
            tool_output=self.output or "",
            tool_status=status,
        )


@dataclass(slots=True)
class _Turn:
    """A message under construction."""

    role: str
    parts: list[TextPart | _Call] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)

    def open_calls(self) -> list[_Call]:
        return [part for part in self.parts if isinstance(part, _Call) and part.output is None]

    def message(self) -> Message:
        return Message(
            role=self.role,
            parts=tuple(part.part() if isinstance(part, _Call) else part for part in self.parts),
        )


@dataclass(frozen=True, slots=True)
class Chat:
    """What a list of chat messages says."""

    messages: tuple[Message, ...]
    extra: dict[str, JsonValue]
    """Keys that were not understood: index of the message (as text) → key → value."""


def read_messages(items: JsonValue, what: str = "messages") -> Chat:
    """Return the messages with calls and results joined; `RecordError` names the message that is broken."""
    turns: list[_Turn] = []
    extra: dict[str, JsonValue] = {}
    for index, item in enumerate(as_list(items, what)):
        where = f"{what}[{index}]"
        source = as_object(item, where)
        role = source.get("role")
        if not isinstance(role, str) or not role:
            raise RecordError(f"{where} has no role")
        unknown = _unknown(source, role)
        turn = _Turn("system" if role == "developer" else role)
        if role in _RESULT_ROLES:
            _join(turns, turn, source)
        else:
            _read_content(turns, turn, source.get("content"), where)
            turn.parts += _calls(source, where)
        if turn.thoughts:
            unknown.setdefault("reasoning_content", "\n".join(turn.thoughts))
        if unknown:
            extra[str(index)] = unknown
        only_results = role in _RESULT_ROLES or isinstance(source.get("content"), list)
        if turn.parts or not only_results:
            turns.append(turn)
    return Chat(tuple(turn.message() for turn in turns), extra)


def _unknown(source: dict[str, JsonValue], role: str) -> dict[str, JsonValue]:
    """Return the keys of a message that have no place in a `Message`."""
    known = _READ_KEYS | {"name", "status", "is_error"} if role in _RESULT_ROLES else _READ_KEYS
    return {key: value for key, value in source.items() if key not in known and value not in (None, [])}


def _read_content(turns: list[_Turn], turn: _Turn, content: JsonValue, where: str) -> None:
    """Add text, placeholders and `tool_use` calls to `turn`; `tool_result`s go to the call they answer."""
    if isinstance(content, str):
        turn.parts += [TextPart(text=content)] if content else []
        return
    for item in as_list(content, f"{where}.content") if content is not None else []:
        if isinstance(item, str):
            turn.parts.append(TextPart(text=item))
            continue
        part = as_object(item, f"{where}.content")
        kind = str(part.get("type"))
        if kind in _TEXT_PARTS:
            turn.parts.append(TextPart(text=str(part.get(_TEXT_PARTS[kind], ""))))
        elif kind == "tool_use":
            name, arguments = str(part.get("name", "")), part.get("input", {})
            turn.parts.append(_Call(str(part.get("id", "")), name, arguments))
        elif kind == "tool_result":
            _join(turns, turn, {**part, "tool_call_id": part.get("tool_use_id")})
        elif kind in _THOUGHT_PARTS:  # what was thought and not said is kept beside the transcript
            thought = part.get(_THOUGHT_PARTS[kind])
            turn.thoughts += [thought] if isinstance(thought, str) and thought else []
        else:  # images, audio, files: a lesson is text, and their bytes do not belong into git
            turn.parts.append(TextPart(text=named(part)))


def _calls(source: dict[str, JsonValue], where: str) -> list[_Call]:
    """Return the tool calls of an assistant message."""
    items = as_list(source.get("tool_calls") or [], f"{where}.tool_calls")
    if source.get("function_call"):
        items = [*items, {"function": source["function_call"]}]
    calls = []
    for item in items:
        call = as_object(item, f"{where}.tool_calls")
        function = as_object(call.get("function", call), f"{where}.tool_calls.function")
        name = function.get("name")
        if not isinstance(name, str) or not name:
            raise RecordError(f"{where} calls a tool without a name")
        calls.append(_Call(str(call.get("id") or ""), name, _arguments(function.get("arguments"))))
    return calls


def _arguments(value: JsonValue) -> JsonValue:
    """Return the arguments as an object, or the raw text where the agent wrote none."""
    if value is None or value == "":
        return {}
    if not isinstance(value, str):
        return value
    try:
        parsed = parse(value)
    except RecordError:
        return value
    return parsed if isinstance(parsed, dict) else value


def _join(turns: list[_Turn], turn: _Turn, result: dict[str, JsonValue]) -> None:
    """Give a result to the call that it answers; without one it stays as text in `turn`.

    Some recordings use one id again and again in a conversation. So the newest message with an open call
    of that id counts, and within it the first. Results without an id are matched by the tool's name.
    """
    tool_id, name = result.get("tool_call_id"), result.get("name")
    output = _output_text(result.get("content"))
    for earlier in reversed(turns):
        for call in earlier.open_calls():
            if call.tool_id == tool_id if tool_id else name in (None, "", call.name):
                call.output = output
                call.failed = bool(result.get("is_error")) or result.get("status") == "error"
                return
    turn.parts.append(TextPart(text=output))


def _output_text(content: JsonValue) -> str:
    """Return a tool's result as text: text parts joined by newlines, any other JSON as JSON text."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [_part_text(part) for part in content if isinstance(part, dict)]
        if len(texts) == len(content) and None not in texts:
            return "\n".join(str(text) for text in texts)
    return json.dumps(content, ensure_ascii=False)


def _part_text(part: dict[str, JsonValue]) -> str | None:
    """Return a part of a tool's result as text; None for JSON of the tool's own."""
    kind = str(part.get("type"))
    if kind in _TEXT_PARTS:
        return str(part.get(_TEXT_PARTS[kind]))
    return named(part) if kind in _MEDIA_PARTS else None
