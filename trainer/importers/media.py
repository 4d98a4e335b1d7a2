"""Images, sounds and files that stand in a recording as base64: what stays is type, size and SHA-256.

A lesson is text, and megabytes of pictures do not belong into git; by the hash the original is found again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

SHORT = 64
"""Characters of base64 that are left as they are: icons of one pixel, examples in prose."""
_MARK = ";base64,"
_DATA_URI = re.compile(
    r"data:([\w.+-]{1,64}/[\w.+-]{1,64})?(?:;[\w.+-]{1,64}=[\w.+-]{1,64}){0,4};base64,"
    r"([A-Za-z0-9+/_-]{64,}={0,2})"
)
_TYPE_KEYS = ("media_type", "mime_type", "mimeType")
_TYPE = re.compile(r"[a-z]{1,64}/[\w.+-]{1,64}")
_LONGEST_URL = 200


def reference(kind: str, encoded: str) -> str:
    """Return what is kept of base64 text: `[image/png: 1234 bytes, sha256 …]`."""
    try:
        data = base64.b64decode(encoded.translate({45: 43, 95: 47}) + "=" * (-len(encoded) % 4))
    except (binascii.Error, ValueError):  # cut off, or no base64 at all: then of the text itself
        data = encoded.encode("utf-8", "replace")
    return f"[{kind}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}]"


def without_data(text: str) -> str:
    """Return the text with every `data:…;base64,…` in it replaced by its reference."""
    if _MARK not in text:
        return text
    return _DATA_URI.sub(lambda found: reference(found[1] or "data", found[2]), text)


def media_type(part: Mapping[str, JsonValue]) -> str:
    """Return of what type the base64 below `data` is; empty where the part is no such thing."""
    if not isinstance(part.get("data"), str) or len(str(part["data"])) < SHORT:
        return ""
    for key in _TYPE_KEYS:
        kind = part.get(key)
        if isinstance(kind, str) and _TYPE.fullmatch(kind):
            return kind
    if part.get("type") == "base64":
        return "data"
    form = part.get("format")
    return f"audio/{form}" if isinstance(form, str) and form in {"wav", "mp3", "flac", "pcm16"} else ""


def is_reference(value: JsonValue) -> bool:
    """Say whether a text is what `reference` made."""
    return isinstance(value, str) and value.startswith("[") and ", sha256 " in value[:200]


def named(part: Mapping[str, JsonValue]) -> str:
    """Return the text that stands for a content part that is no text: its reference, else its type.

    The address of an image that lies elsewhere is kept without what follows `?`, which may be a key.
    """
    kind = str(part.get("type"))
    for value in _inner(part):
        if is_reference(value):
            return str(value)
        if isinstance(value, str) and value.startswith(("https://", "http://")):
            return f"[{kind}: {value.partition('?')[0][:_LONGEST_URL]}]"
    return f"[{kind}]"


def _inner(part: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Return the values of a part and of the objects in it, where the formats keep data and addresses."""
    found: list[JsonValue] = []
    for value in part.values():
        found += value.values() if isinstance(value, dict) else [value]
    return [without_data(value) if isinstance(value, str) else value for value in found]
