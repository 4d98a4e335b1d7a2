"""A digest inside a text, by which an export knows its own files: whether a person has changed one since."""

from __future__ import annotations

import re
from hashlib import sha256

BLANK = "0" * 16
"""What stands in the digest's place while it is computed."""
_STAMP = re.compile(r"""(xp[-_]digest["']?[:=] ?["']?)([0-9a-f]{16})\b""")


def stamped(text: str) -> str:
    """Return a text that has `xp-digest: "0000000000000000"` (or the like) in it with its digest there."""
    match = _STAMP.search(text)
    if match is None:
        raise ValueError("there is no place for a digest")
    return f"{text[: match.start(2)]}{_digest(text, match)}{text[match.end(2) :]}"


def is_intact(text: str) -> bool:
    """Say whether a text has a digest, and is as it was when it got it."""
    match = _STAMP.search(text)
    return match is not None and match[2] == _digest(text, match)


def _digest(text: str, match: re.Match[str]) -> str:
    blank = f"{text[: match.start(2)]}{BLANK}{text[match.end(2) :]}"
    return sha256(blank.encode()).hexdigest()[: len(BLANK)]
