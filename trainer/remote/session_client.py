"""A service that learns from sessions, as its client sees it (RFC §12): six calls, and what errors mean."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol, Self, runtime_checkable

from trainer.remote.client import HttpError, JsonClient, segment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pydantic import JsonValue

MOST_MESSAGES = 100
"""Messages that a service takes in one call."""
_TASK = "/api/v1/tasks"
_SESSIONS = "/api/v1/sessions"


class SessionClient(Protocol):
    """What is asked of a service. OpenViking's own `AsyncHTTPClient` has these methods, too.

    Each returns the `result` of the service's answer, as JSON, and raises an exception that `fault_of` reads.
    """

    async def create_session(self, session_id: str, options: dict[str, JsonValue]) -> JsonValue:
        """Make a session; one with this id that is there already is an error."""
        ...

    async def batch_add_messages(self, session_id: str, messages: list[dict[str, JsonValue]]) -> JsonValue:
        """Put at most MOST_MESSAGES messages at its end; return `message_count`."""
        ...

    async def commit_session(self, session_id: str, *, keep_recent_count: int) -> JsonValue:
        """Let the service learn from its messages; return `task_id`, null where there are none."""
        ...

    async def get_session(self, session_id: str) -> JsonValue:
        """Return its `message_count` (not yet committed) and `commit_count`."""
        ...

    async def list_tasks(self, *, resource_id: str) -> JsonValue:
        """Return the tasks of a session, each as `get_task` does."""
        ...

    async def get_task(self, task_id: str) -> JsonValue:
        """Return a task's `status`, `result` and `error`; None where the service knows none."""
        ...


@runtime_checkable
class CanRetry(Protocol):
    """A client that can have a failed task tried again; not all services know that."""

    async def retry_task(self, task_id: str) -> bool:
        """Have it tried again; False where the service does not do that."""
        ...


class HttpSessionClient:
    """A service with OpenViking's session API, over HTTP. Asks once: what may be repeated, callers know."""

    def __init__(self, client: JsonClient) -> None:
        """`client` is open, for the service's address, and makes no further attempts by itself."""
        self._client = client

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str, *, key: str = "") -> AsyncIterator[Self]:
        """Open a client of the service at an address. Raises UsageError where it is none."""
        async with JsonClient(url, key=key, retries=0) as client:
            yield cls(client)

    async def create_session(self, session_id: str, options: dict[str, JsonValue]) -> JsonValue:
        """Make a session."""
        return _result(await self._client.post(_SESSIONS, {**options, "session_id": session_id}))

    async def batch_add_messages(self, session_id: str, messages: list[dict[str, JsonValue]]) -> JsonValue:
        """Put messages at its end."""
        body: JsonValue = {"messages": list(messages)}
        return _result(await self._client.post(f"{_SESSIONS}/{segment(session_id)}/messages/batch", body))

    async def commit_session(self, session_id: str, *, keep_recent_count: int) -> JsonValue:
        """Let the service learn from its messages."""
        body: JsonValue = {"keep_recent_count": keep_recent_count}
        return _result(await self._client.post(f"{_SESSIONS}/{segment(session_id)}/commit", body))

    async def get_session(self, session_id: str) -> JsonValue:
        """Return how far it is."""
        return _result(await self._client.get(f"{_SESSIONS}/{segment(session_id)}"))

    async def list_tasks(self, *, resource_id: str) -> JsonValue:
        """Return the tasks of a session."""
        return _result(await self._client.get(_TASK, {"resource_id": resource_id}))

    async def get_task(self, task_id: str) -> JsonValue:
        """Return a task, None where there is none."""
        try:
            return _result(await self._client.get(f"{_TASK}/{segment(task_id)}"))
        except HttpError as error:
            if error.kind == "gone":
                return None
            raise

    async def retry_task(self, task_id: str) -> bool:
        """Have a failed task tried again, as `xp serve` does; False where the service does not."""
        try:
            await self._client.post(f"{_TASK}/{segment(task_id)}/retry", {})
        except HttpError as error:
            if error.status in {404, 405}:
                return False
            if error.status != 409:  # it has ended otherwise meanwhile: look
                raise
        return True


def _result(answer: JsonValue) -> JsonValue:
    """Return what an envelope holds. Raises HttpError where it is none."""
    if not isinstance(answer, dict) or answer.get("status") != "ok" or "result" not in answer:
        raise HttpError(
            "wrong answer",
            "the answer is not of the form that session services use",
            hint="is it the address of the service itself?",
        )
    return answer["result"]


FaultKind = Literal["there", "again", "no"]
"""What an error means: the session is there already; asked later it may go well; it will not."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of a client, read."""

    kind: FaultKind
    message: str
    retry_after: float | None = None
    """Seconds for which the service wants to be left alone."""


_CODES: Mapping[str, FaultKind] = MappingProxyType(
    {
        "ALREADY_EXISTS": "there",
        **dict.fromkeys(
            ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "INTERNAL", "ABORTED", "CONFLICT"),
            "again",
        ),
    }
)
"""OpenViking's error codes, as its client's exceptions have them in `code`; others are a no."""


def fault_of(error: Exception) -> Fault:
    """Return what an error of any SessionClient means.

    An error that has no code comes from below a client, which for most means that there was no answer. One of
    Python's own, such as a TypeError, is a fault of the program, and a no.
    """
    if isinstance(error, HttpError):
        return _http_fault(error)
    said = " ".join(str(error).split())[:300] or type(error).__name__
    code = getattr(error, "code", None)
    if isinstance(code, str):
        return Fault(_CODES.get(code, "no"), said)
    is_python = type(error).__module__ == "builtins" and not isinstance(error, OSError)
    return Fault("no" if is_python else "again", said)


def _http_fault(error: HttpError) -> Fault:
    code = ""
    if isinstance(error.body, dict) and isinstance(told := error.body.get("error"), dict):
        code = str(told.get("code"))
    kind: FaultKind = "no"
    if error.status == 409:
        kind = _CODES.get(code, "no")
    elif error.kind in {"unreachable", "timeout", "busy", "failed"} and error.status != 501:
        kind = "again"
    return Fault(kind, error.message, error.retry_after)
