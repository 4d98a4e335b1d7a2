"""Canonical bytes and the ids made from them. Nothing here depends on a clock or a machine."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue

ID_LENGTH = 20  # hex digits of our own ids: 80 bits, collisions are out of reach at 10^9 items


def canonical_json(value: object) -> bytes:
    """Return the one byte form of a JSON value: sorted keys, no spaces, UTF-8, no NaN."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def content_id(value: object) -> str:
    """Return the id of a JSON value: the first 20 hex digits of the SHA-256 of its canonical bytes."""
    return hashlib.sha256(canonical_json(value)).hexdigest()[:ID_LENGTH]


def blob_id(text: str | None) -> str:
    """Return git's id of a file with this text; forty zeros for no file."""
    if text is None:
        return "0" * 40
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def mend(text: str) -> str:
    """Return the text as UTF-8 can write it: two halves of a character joined, a lone one as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mended(value: JsonValue) -> JsonValue:
    """Return a JSON value with all of its texts, keys too, as `mend` has them."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, dict):
        return {mend(key): mended(item) for key, item in value.items()}
    return value
