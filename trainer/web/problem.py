"""What goes wrong in a request, as its caller is told: a status, a code, a message, never a traceback.

A route raises what the layers below raise (`xpstore.errors`), or `WebError` where it wants a status or code
of its own. How a problem looks as JSON is each service's matter (`Render`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from xpstore.errors import ConflictError, NotFoundError, RefusedError, RepositoryError, UsageError, XpError

NOTHING: Mapping[str, object] = MappingProxyType({})
NO_HEADERS: Mapping[str, str] = MappingProxyType({})

CODES: Mapping[int, str] = MappingProxyType(
    {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        405: "UNIMPLEMENTED",
        408: "DEADLINE_EXCEEDED",
        409: "CONFLICT",
        413: "RESOURCE_EXHAUSTED",
        415: "INVALID_ARGUMENT",
        422: "INVALID_ARGUMENT",
        429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL",
        503: "UNAVAILABLE",
    }
)
"""The code of a status where nobody says another one."""
STATUSES: tuple[tuple[type[XpError], int], ...] = (
    (UsageError, 400),
    (NotFoundError, 404),
    (ConflictError, 409),
    (RefusedError, 409),
    (RepositoryError, 503),
)
UNAVAILABLE = "the store cannot be read or written now; the log of the service says why"


@dataclass(frozen=True, slots=True)
class Problem:
    """What a caller is told."""

    status: int
    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


Render = Callable[[Problem], Mapping[str, object]]
"""Makes the JSON of an answer from a problem."""


class WebError(XpError):
    """An answer of this status and code. `code` defaults to the usual one of the status."""

    def __init__(  # noqa: PLR0913  # all that an answer has
        self,
        status: int,
        message: str,
        *,
        code: str = "",
        hint: str = "",
        details: Mapping[str, object] = NOTHING,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code or code_of(status)
        self.details = details
        self.headers = headers


def code_of(status: int) -> str:
    """Return the usual code of a status."""
    return CODES.get(status, CODES[400] if status < 500 else CODES[500])


def problem_of(error: XpError) -> Problem:
    """Return what a caller is told of an error; of a disk that fails no more than that it does."""
    details = {"hint": error.hint} if error.hint else {}
    if isinstance(error, WebError):
        return Problem(error.status, error.code, error.message, {**details, **error.details}, error.headers)
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    if status >= 500:
        return Problem(status, code_of(status), UNAVAILABLE)
    return Problem(status, code_of(status), error.message, details)


def plain(problem: Problem) -> Mapping[str, object]:
    """Return a problem in the plain form: {"error": {"code", "message", "details"}}."""
    return {
        "error": {"code": problem.code, "message": problem.message, "details": dict(problem.details)},
    }


def encoded(value: Mapping[str, object]) -> bytes:
    """Return JSON that any client reads, whatever characters a message has."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode("ascii")
