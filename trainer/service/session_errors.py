"""What the session API refuses; `trainer.web.problem` knows their status and code."""

from __future__ import annotations

from trainer.web.problem import WebError
from xpstore.errors import NotFoundError, RefusedError, UsageError


class InvalidRequestError(UsageError):
    """The request is not of the form, or over a limit: 400 INVALID_ARGUMENT."""


class UnknownError(NotFoundError):
    """There is no such session, task, archive or text: 404 NOT_FOUND."""


class StateError(RefusedError):
    """It is not in a state in which this can be done: 409 CONFLICT."""


class ExistsError(WebError):
    """There is one already: 409 ALREADY_EXISTS."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(409, message, code="ALREADY_EXISTS", hint=hint)
