"""Messages and parts as clients of the session API write them, and the trainer's messages made of them.

The form is OpenViking's: unknown fields are passed over, since clients of several versions write them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from trainer.domain import Message, TextPart, ToolPart
from trainer.service.session_errors import InvalidRequestError
from trainer.service.uris import EXPERIENCES, SUFFIX
from xpstore.hashing import mended

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_MESSAGES = 100
"""Messages in one request."""
MOST_PARTS = 1_000
"""Parts of one message."""
DEEPEST = 64
"""Levels of a tool's input."""
TOKEN = 4
"""Characters that count as one token where nobody has counted."""


class Wire(BaseModel):
    """A value of another program."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class WireText(Wire):
    """Plain text."""

    type: Literal["text"]
    text: str


class WireContext(Wire):
    """Something that the agent was given to read."""

    type: Literal["context"]
    uri: str = ""
    context_type: str = "memory"
    abstract: str = ""


class WireUrl(Wire):
    """Where an image is."""

    url: str = ""
    detail: str | None = None


class WireImage(Wire):
    """An image: kept with the session, and no part of what is learned from."""

    type: Literal["image_url"]
    image_url: WireUrl = WireUrl()


class WireTool(Wire):
    """A tool call, with its result where that is there. The `tool_output_…` fields are tool_results.py's."""

    type: Literal["tool"]
    tool_id: str = ""
    tool_name: str = ""
    tool_uri: str = ""
    skill_uri: str = ""
    tool_status: Literal["pending", "running", "completed", "error"] = "pending"
    tool_input: JsonValue = None
    tool_output: str = ""
    duration_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tool_output_ref: str | None = None
    tool_output_truncated: bool | None = None
    tool_output_original_chars: int | None = None
    tool_output_preview_chars: int | None = None
    tool_output_sha256: str | None = None
    tool_output_storage_uri: str | None = None
    tool_output_mime_type: str | None = None

    @field_validator("tool_output", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        """Take a result that is JSON and no text as its JSON text."""
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)

    @field_validator("tool_input")
    @classmethod
    def _shallow(cls, value: JsonValue) -> JsonValue:
        if _depth(value) > DEEPEST:
            raise ValueError(f"tool_input is nested deeper than {DEEPEST} levels")
        return value


WirePart = Annotated[WireText | WireContext | WireImage | WireTool, Field(discriminator="type")]


class WireMessage(Wire):
    """One message; `content` is the short form of one text part."""

    id: str | None = Field(default=None, max_length=256)
    """Named by the client: the same message, sent twice, is there once."""
    role: str = Field(min_length=1, max_length=64)
    content: str | None = None
    parts: tuple[WirePart, ...] | None = Field(default=None, max_length=MOST_PARTS)
    peer_id: str | None = None
    created_at: str | None = None
    turn_id: str | None = None
    message_kind: str | None = None
    source_message_ids: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> WireMessage:
        if self.content is None and self.parts is None:
            raise ValueError("a message needs content or parts")
        return self

    def stored(self, message_id: str, created_at: str) -> dict[str, JsonValue]:
        """Return it as it is kept and given back: parts only, with an id and a time."""
        parts: list[JsonValue] = [{"type": "text", "text": self.content}] if self.parts is None else []
        parts += [p.model_dump(mode="json", exclude_none=True) for p in self.parts or ()]
        row: dict[str, JsonValue] = {
            "id": message_id,
            "role": self.role,
            "parts": parts,
            "created_at": self.created_at or created_at,
            "peer_id": self.peer_id,
            "turn_id": self.turn_id,
            "message_kind": self.message_kind,
            "source_message_ids": list(self.source_message_ids) if self.source_message_ids else None,
        }
        return {key: mended(value) for key, value in row.items() if value is not None}


def to_messages(stored: Sequence[Mapping[str, JsonValue]]) -> tuple[Message, ...]:
    """Return the trainer's messages. Raises InvalidRequestError for what `stored` never returned."""
    try:
        found = [WireMessage.model_validate(row) for row in stored]
    except ValueError as error:
        raise InvalidRequestError("a message on record is damaged", hint="delete its session") from error
    return tuple(Message(role=m.role, parts=tuple(map(_part, m.parts or ()))) for m in found)


def experiences_in(stored: Sequence[Mapping[str, JsonValue]]) -> list[str]:
    """Return the names of the experiences that the agent was given, as context parts say; unchecked."""
    found: set[str] = set()
    for row in stored:
        parts = row.get("parts")
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict) and part.get("type") == "context":
                *folder, file = str(part.get("uri", "")).split("/")
                if tuple(folder[-2:]) == EXPERIENCES and file.endswith(SUFFIX):
                    found.add(file.removesuffix(SUFFIX))
    return sorted(found)


def tokens_in(stored: Mapping[str, JsonValue]) -> int:
    """Return about how many tokens a stored message has."""
    return max(1, sum(len(text) for text in _texts(stored.get("parts"))) // TOKEN)


def _part(part: WireText | WireContext | WireImage | WireTool) -> TextPart | ToolPart:
    if isinstance(part, WireText):
        return TextPart(text=part.text)
    if isinstance(part, WireContext):
        return TextPart(text=f"[{part.context_type}] {part.uri} {part.abstract}".rstrip())
    if isinstance(part, WireImage):  # a lesson is text, and its bytes do not belong into git
        return TextPart(text="[image]")
    status: Literal["completed", "error", "pending"] = (
        part.tool_status if part.tool_status in {"completed", "error"} else "pending"
    )
    return ToolPart(
        tool_id=part.tool_id,
        tool_name=part.tool_name,
        tool_input={} if part.tool_input is None else part.tool_input,
        tool_output=part.tool_output,
        tool_status=status,
    )


def _texts(value: JsonValue) -> list[str]:
    """Return the texts of parts that count: what was said, and what tools were given and said."""
    rows = [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
    found = [row.get(key) for row in rows for key in ("text", "abstract", "tool_output")]
    found += [json.dumps(row["tool_input"]) for row in rows if row.get("tool_input")]
    return [text for text in found if isinstance(text, str)]


def _depth(value: JsonValue) -> int:
    """Return how deeply a value is nested; it is read level by level, since it is hostile."""
    level, depth = [value], 0
    while level:
        depth += 1
        inner: list[JsonValue] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        level = inner
        if depth > DEEPEST:
            break
    return depth
