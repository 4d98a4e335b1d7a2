"""What comes back over HTTP, as values: the good answer, the kinds of bad ones, and their JSON. Pure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn

from xpstore.errors import XpError
from xpstore.hashing import mend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

Kind = Literal["unreachable", "timeout", "refused", "gone", "busy", "failed", "wrong answer"]
"""What went wrong:

unreachable   no connection, or it broke off before there was an answer
timeout       no whole answer in time
refused       the service does not take the request: 4xx but for those below, or a redirect
gone          404, 410
busy          408, 425, 429, 503: asked later, it may answer
failed        another 5xx
wrong answer  no JSON, too large, or not in the form that was asked for
"""

MOST_DEPTH = 100
"""Levels of nesting in a JSON value."""
_BUSY = frozenset({408, 425, 429, 503})
_SAYING = ("message", "detail", "error")
"""Where services say what is wrong."""


class HttpError(XpError):
    """A request that got no good answer."""

    def __init__(  # noqa: PLR0913  # the facts of one request
        self,
        kind: Kind,
        message: str,
        *,
        status: int = 0,
        hint: str = "",
        body: JsonValue = None,
        retry_after: float | None = None,
    ) -> None:
        """`status` is 0 where there was none; `body` is the JSON that came with it, None where none did.

        `retry_after` is in seconds, where the service asks to be left alone for so long.
        """
        super().__init__(message, hint=hint)
        self.kind: Kind = kind
        self.status = status
        self.body = body
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer (2xx)."""

    status: int
    value: JsonValue
    """The body; None where there is none."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""


def kind_of(status: int) -> Kind:
    """Return what kind of error a status is that is not 2xx."""
    if status in {404, 410}:
        return "gone"
    if status in _BUSY:
        return "busy"
    return "failed" if status >= 500 else "refused"


def decoded(data: bytes) -> JsonValue:
    """Return the value of a JSON text. Raises ValueError."""
    try:
        value: JsonValue = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number)
    except RecursionError:
        raise ValueError(f"nested deeper than {MOST_DEPTH} levels") from None
    return value


def cleaned(value: JsonValue, scrub: Callable[[str], str], depth: int = MOST_DEPTH) -> JsonValue:
    """Return the value without lone surrogates, each of its texts scrubbed.

    Raises ValueError for a number that is none, and for what is nested too deeply.
    """
    if isinstance(value, str):
        return scrub(mend(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number in JSON")
    if not isinstance(value, list | dict):
        return value
    if not depth:
        raise ValueError(f"nested deeper than {MOST_DEPTH} levels")
    if isinstance(value, list):
        return [cleaned(item, scrub, depth - 1) for item in value]
    return {scrub(mend(key)): cleaned(item, scrub, depth - 1) for key, item in value.items()}


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number in JSON")


def reason(body: JsonValue) -> str:
    """Return what a service says about an error, wherever in its answer it says it."""
    while isinstance(body, dict):
        body = next((body[key] for key in _SAYING if body.get(key)), None)
    if isinstance(body, str):
        return body
    return json.dumps(body) if isinstance(body, list) else ""
