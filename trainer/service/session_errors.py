"""What the session API refuses; `trainer.web.problem` knows the status and code of the rest."""

from __future__ import annotations

from trainer.web.problem import WebError
from xpstore.errors import RefusedError, UsageError


class InvalidRequestError(UsageError):
    """The request is not of the form, or over a limit: 400 INVALID_ARGUMENT."""


class StateError(RefusedError):
    """It is not in a state in which this can be done: 409 CONFLICT."""


class UnknownError(WebError):
    """There is no such session, task, archive or text: 404 NOT_FOUND. Clients show what, not the message."""

    def __init__(self, kind: str, name: str, message: str = "", *, hint: str = "") -> None:
        details = {"resource": name, "type": kind}
        super().__init__(404, message or f"there is no {kind} {name}", hint=hint, details=details)


class ExistsError(WebError):
    """There is one already: 409 ALREADY_EXISTS."""

    def __init__(self, kind: str, name: str, message: str, *, hint: str = "") -> None:
        details = {"resource": name, "type": kind}
        super().__init__(409, message, code="ALREADY_EXISTS", hint=hint, details=details)
