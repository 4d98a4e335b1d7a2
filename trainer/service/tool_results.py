"""Large outputs of tools: kept aside, and in the message only a preview and a reference."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

LONGEST = 20_000
"""Characters that one output may have in its message."""
TOGETHER = 100_000
"""Characters that all outputs of one message may have."""
PREVIEW = 2_000
"""Characters that are left of an output that is kept aside, with the mark of what is missing."""
_HEAD, _TAIL = 1_400, 400
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """An output that is kept aside."""

    id: str
    text: str
    mime_type: str


def set_aside(
    message: dict[str, JsonValue], base_uri: str
) -> tuple[dict[str, JsonValue], tuple[ToolResult, ...]]:
    """Return a stored message with its large outputs referenced, and these outputs.

    `base_uri` is the session's. Too large is an output over LONGEST; where all that are left have more than
    TOGETHER, the longest go first.
    """
    parts = message.get("parts")
    outputs = dict(_outputs(parts))
    aside = {at for at, text in outputs.items() if len(text) > LONGEST}
    rest = sorted((at for at in outputs if at not in aside), key=lambda at: (-len(outputs[at]), at))
    left = sum(len(outputs[at]) for at in rest)
    for at in rest:
        if left <= TOGETHER or len(outputs[at]) <= PREVIEW:
            break
        aside.add(at)
        left -= len(outputs[at])
    if not aside or not isinstance(parts, list):
        return message, ()
    results: dict[str, ToolResult] = {}
    replaced = list(parts)
    for at in sorted(aside):
        part = parts[at]
        if isinstance(part, dict):
            replaced[at], result = _referenced(part, outputs[at], base_uri)
            results[result.id] = result
    return {**message, "parts": replaced}, tuple(results.values())


def preview(text: str) -> str:
    """Return the beginning and the end of a long text, at most PREVIEW characters."""
    missing = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]}\n[… {missing} characters are kept aside …]\n{text[-_TAIL:]}"


def _outputs(parts: JsonValue) -> Iterator[tuple[int, str]]:
    for at, part in enumerate(parts if isinstance(parts, list) else []):
        if isinstance(part, dict) and part.get("type") == "tool":
            text = part.get("tool_output")
            if isinstance(text, str):  # whatever the client says of it
                yield at, text


def _referenced(
    part: dict[str, JsonValue], text: str, base_uri: str
) -> tuple[dict[str, JsonValue], ToolResult]:
    digest = hashlib.sha256(text.encode()).hexdigest()
    named = _UNFIT.sub("_", str(part.get("tool_id") or "tool"))[:64]
    result = ToolResult(f"tr_{named}_{digest[:16]}", text, _mime_type(text))
    short = preview(text)
    fields: dict[str, JsonValue] = {
        "tool_output": short,
        "tool_output_ref": result.id,
        "tool_output_truncated": True,
        "tool_output_original_chars": len(text),
        "tool_output_preview_chars": len(short),
        "tool_output_sha256": digest,
        "tool_output_storage_uri": f"{base_uri}/tool-results/{result.id}",
    }
    if result.mime_type != "text/plain":
        fields["tool_output_mime_type"] = result.mime_type
    return {**part, **fields}, result


def _mime_type(text: str) -> str:
    if text[:1] in {"{", "["}:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "text/plain"
        return "application/json"
    return "text/plain"
