"""What the code of an environment's author says when it fails: data, in one harmless line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from traceback import extract_tb

from xpstore.errors import XpError
from xpstore.hashing import mend
from xpstore.redact import Redactor

MOST = 2_000
"""Characters that are told."""


def reason(error: BaseException) -> str:
    """Return why something failed, without secrets, for a client."""
    return told(error.message if isinstance(error, XpError) else f"{type(error).__name__}: {error}")


def where(error: BaseException) -> str:
    """Return the file and line that raised it, for the author."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}"
    frames = extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"


def told(text: str) -> str:
    """Return a text as one line without secrets."""
    return _redactor().redact_text(" ".join(mend(text).split())[:MOST]) or "no reason was given"


@cache
def _redactor() -> Redactor:
    return Redactor()
