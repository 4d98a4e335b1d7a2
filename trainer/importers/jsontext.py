"""Strict JSON: what other programs wrote becomes values that every later step can carry."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, cast

from trainer.importers.media import media_type, reference, without_data

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_DEPTH = 100
"""Levels of nesting. pydantic and json give up between 250 and 1,000; real recordings stay below 20."""


class RecordError(ValueError):
    """One record cannot be read; the text says why. The rest of the file goes on."""


_DECODER = json.JSONDecoder()


MAX_TEXT = 1 << 16
"""Characters of one text. Longer ones are printed files and dumps; beginning and end say what they were."""
_KEPT_END = MAX_TEXT // 4


def clean_text(text: str) -> str:
    """Return the text with lone surrogates, which no UTF-8 file can hold, replaced by U+FFFD.

    Of files in base64 a reference is left (see `media`). Of a text over MAX_TEXT the middle is left out; a
    mark says how long it was, and its SHA-256.
    """
    text = without_data(text)
    if len(text) > MAX_TEXT:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        mark = f"\n[cut: {len(text)} characters, sha256 {digest}]\n"
        text = text[: MAX_TEXT - _KEPT_END - len(mark)] + mark + text[-_KEPT_END:]
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def decode_at(text: str, start: int) -> tuple[JsonValue, int]:
    """Return the JSON value that begins at `start` (no white space before it) and where it ends.

    The value still needs `clean`. Raises `json.JSONDecodeError` (with the position) when it is no JSON and
    `RecordError` when no end was found: the nesting is too deep, an integer has thousands of digits.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise RecordError(f"nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # what is left: Python reads no integer of more than 4,300 digits
        raise RecordError("a number in it has thousands of digits") from None
    return cast("JsonValue", value), end


def clean(value: JsonValue, depth: int = MAX_DEPTH) -> JsonValue:
    """Return the value without lone surrogates; `RecordError` for NaN, infinity and too deep nesting."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise RecordError(f"{value} is not a number in JSON")
    if isinstance(value, list | dict):
        if depth == 0:
            raise RecordError(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, list):
            return [clean(item, depth - 1) for item in value]
        kind = media_type(value)
        if kind:
            value = {**value, "data": reference(kind, str(value["data"]))}
        return {clean_text(key): clean(item, depth - 1) for key, item in value.items()}
    return value


def parse(text: str) -> JsonValue:
    """Return the one JSON value of `text`, cleaned; `RecordError` when there is none, or more than one."""
    text = text.strip(" \t\r\n")
    try:
        value, end = decode_at(text, 0)
    except json.JSONDecodeError as error:
        raise RecordError(f"not valid JSON: {error.msg} at character {error.pos + 1}") from None
    if end != len(text):
        raise RecordError(f"not valid JSON: more text after character {end}")
    return clean(value)


def as_object(value: JsonValue, what: str) -> dict[str, JsonValue]:
    """Return `value` as an object, or say that `what` is none."""
    if not isinstance(value, dict):
        raise RecordError(f"{what} is not a JSON object")
    return value


def as_list(value: JsonValue, what: str) -> list[JsonValue]:
    """Return `value` as a list, or say that `what` is none."""
    if not isinstance(value, list):
        raise RecordError(f"{what} is not a JSON array")
    return value


def as_number(value: JsonValue, what: str) -> float:
    """Return `value` (a number, or true/false as 1/0), or say that `what` is none."""
    if not isinstance(value, int | float):
        raise RecordError(f"{what} is not a number: {json.dumps(value)[:40]}")
    try:
        return float(value)
    except OverflowError:
        raise RecordError(f"{what} is too large") from None
