"""Find the JSON in what a model wrote: fenced, with prose around it, after thinking aloud. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from xpstore.hashing import mend

if TYPE_CHECKING:
    from pydantic import JsonValue

MOST_ATTEMPTS = 64
"""Braces that are tried as the start of an object."""
_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_STILL_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT = re.compile(
    r"\A(?!\s*[{\[]).*?</(think|thinking|reasoning)>[ \t]*(?:\n|\Z)", re.DOTALL | re.IGNORECASE
)
"""Thoughts that the prompt had begun: templates of models do that."""
_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*(?:json5?|JSON)?[ \t]*\n(.*?)^[ \t]*\1", re.DOTALL | re.MULTILINE
)
_BEGINS = re.compile(r'\{\s*["{\[}]')
# models write line breaks into strings as they are
_DECODER = json.JSONDecoder(strict=False)


def find_object(text: str) -> dict[str, JsonValue]:
    """Return the JSON object that the text is, or contains: the longest of several.

    Raises ValueError, with a sentence for the model, where there is none.
    """
    text = _without_thoughts(mend(text).lstrip("\ufeff")).strip()
    whole = _decoded(text)
    if isinstance(whole, dict):
        return whole
    if whole is not None:
        raise ValueError("the answer is JSON, but not an object")
    for fenced in _FENCE.finditer(text):
        found = _decoded(fenced[2].strip())
        if isinstance(found, dict):
            return found
    return _longest(text)


def spoken(text: str) -> str:
    """Return what a model has said, without what it thought aloud; nothing where it was cut at that."""
    said = _without_thoughts(text).strip()
    return "" if _STILL_THINKING.match(said) else said


def is_bare(text: str) -> bool:
    """Say whether the text is the object and nothing around it."""
    return text.strip()[:1] == "{" and text.strip()[-1:] == "}"


def _without_thoughts(text: str) -> str:
    return (_THINKING if _STILL_THINKING.match(text) else _THOUGHT).sub("", text, count=1)


def _decoded(text: str) -> JsonValue:
    try:
        value: JsonValue = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value


def _longest(text: str) -> dict[str, JsonValue]:
    best: dict[str, JsonValue] | None = None
    length = at = 0
    for _ in range(MOST_ATTEMPTS):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
            if _BEGINS.match(text, at):  # else it is a brace in prose
                raise ValueError(f"the JSON object in the answer cannot be read: {why}") from None
            at += 1
            continue
        if isinstance(value, dict) and end - at > length:
            best, length = value, end - at
        at = end
    if best is None:
        raise ValueError("there is no JSON object in the answer")
    return best
