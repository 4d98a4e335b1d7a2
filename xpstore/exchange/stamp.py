"""A digest inside a text, by which an export knows its own files: whether a person has changed one since.

Where it stands is said by a pattern of its format, whose only group are its digits: text of a page that looks
like a digest is no place for it. Line ends, and line breaks at the end, are no change: editors and git make
them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

BLANK = "0" * 16
"""What stands in the digest's place while it is computed."""
HEX = "([0-9a-f]{16})"
"""The digits in a pattern."""


def stamped(text: str, place: re.Pattern[str]) -> str:
    """Return a text that has BLANK at a place with its digest there. Of several places the last counts."""
    match = _last(text, place)
    if match is None:
        raise ValueError("there is no place for a digest")
    return f"{text[: match.start(1)]}{_digest(text, match)}{text[match.end(1) :]}"


def is_intact(text: str, place: re.Pattern[str]) -> bool:
    """Say whether a text has a digest, and is as it was when it got it."""
    plain = text.replace("\r\n", "\n")
    match = _last(plain, place)
    return match is not None and match[1] == _digest(plain, match)


def _last(text: str, place: re.Pattern[str]) -> re.Match[str] | None:
    found = None
    for match in place.finditer(text):
        found = match
    return found


def _digest(text: str, match: re.Match[str]) -> str:
    blank = f"{text[: match.start(1)]}{BLANK}{text[match.end(1) :]}".replace("\r\n", "\n").rstrip("\n")
    return sha256(blank.encode()).hexdigest()[: len(BLANK)]
