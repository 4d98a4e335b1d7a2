"""The routes of sessions: make one, add messages, commit; look at what is kept, and delete it."""

from __future__ import annotations

import time
import uuid
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field, JsonValue

from trainer.service.envelope import ok
from trainer.service.session_messages import Wire, WireMessage
from trainer.service.tenants import Tenant, tenant_of

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"])
Who = Annotated[Tenant, Depends(tenant_of)]
Telemetry = bool | dict[str, JsonValue] | None


class NewSession(Wire):
    """A session to make. What is said of memory is kept, and honoured where it is about experiences."""

    session_id: str | None = None
    memory_policy: dict[str, JsonValue] | None = None
    auto_commit_policy: dict[str, JsonValue] | None = None
    memory_extraction_config: dict[str, JsonValue] | None = None
    telemetry: Telemetry = None


class NewMessages(Wire):
    """Messages to add, at most 100."""

    messages: list[WireMessage]
    telemetry: Telemetry = None


class NewMessage(WireMessage):
    """A message to add."""

    telemetry: Telemetry = None


class NewCommit(Wire):
    """What is to be frozen and learned from: all but the last messages."""

    keep_recent_count: int = Field(default=0, ge=0, le=1_000_000)
    telemetry: Telemetry = None


class NewConfig(Wire):
    """What is to be changed of a session."""

    memory_policy: dict[str, JsonValue] | None = None
    auto_commit_policy: dict[str, JsonValue] | None = None
    memory_extraction_config: dict[str, JsonValue] | None = None


@router.post("")
async def create(who: Who, body: NewSession) -> dict[str, object]:
    """Make a session; without an id it is given one."""
    begun = time.monotonic()
    made = await who.sessions.create_session(who.user, body.model_dump(mode="json", exclude={"telemetry"}))
    return _answered(made, "session.create", body.telemetry, begun)


@router.get("")
async def listed(who: Who) -> dict[str, object]:
    """List the sessions of whoever calls, the newest first."""
    return ok(await who.sessions.sessions(who.user))


@router.get("/{session_id}")
async def get(who: Who, session_id: str, auto_create: bool = False) -> dict[str, object]:  # noqa: FBT001, FBT002  # a query parameter
    """Tell of a session; with `auto_create` make it where it is missing."""
    return ok(await who.sessions.session(who.user, session_id, create=auto_create))


@router.delete("/{session_id}")
async def delete(who: Who, session_id: str) -> dict[str, object]:
    """Delete a session with all that was said in it. What was learned from it stays."""
    return ok(await who.sessions.delete(who.user, session_id))


@router.patch("/{session_id}/config")
async def configure(who: Who, session_id: str, body: NewConfig) -> dict[str, object]:
    """Change what is remembered of a session."""
    return ok(await who.sessions.configure(who.user, session_id, body.model_dump(exclude_unset=True)))


@router.get("/{session_id}/context")
async def context(
    who: Who, session_id: str, token_budget: Annotated[int, Query(ge=0, le=10_000_000)] = 128_000
) -> dict[str, object]:
    """Return the newest messages that are in no archive, as many as the budget holds."""
    return ok(await who.sessions.context(who.user, session_id, token_budget))


@router.get("/{session_id}/archives/{archive_id}")
async def archive(who: Who, session_id: str, archive_id: str) -> dict[str, object]:
    """Return what one commit froze."""
    return ok(await who.sessions.archive(who.user, session_id, archive_id))


@router.get("/{session_id}/tool-results/{result_id}")
async def tool_result(
    who: Who,
    session_id: str,
    result_id: str,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000_000)] = 20_000,
) -> dict[str, object]:
    """Return a stretch of an output that is kept aside, in characters."""
    text = await who.sessions.read_file(who.user, session_id, ("tool-results", result_id))
    part = text[offset : offset + limit]
    more = offset + len(part) < len(text)
    return ok({"tool_result_id": result_id, "content": part, "total_chars": len(text), "has_more": more})


@router.post("/{session_id}/messages")
async def add(who: Who, session_id: str, body: NewMessage) -> dict[str, object]:
    """Add a message. One with the id of a message that is there already is that message."""
    begun = time.monotonic()
    added = await who.sessions.add_messages(who.user, session_id, [body])
    return _answered(added, "session.add_message", body.telemetry, begun)


@router.post("/{session_id}/messages/batch")
async def add_batch(who: Who, session_id: str, body: NewMessages) -> dict[str, object]:
    """Add messages, all or none."""
    begun = time.monotonic()
    added = await who.sessions.add_messages(who.user, session_id, body.messages)
    return _answered(added, "session.batch_add_messages", body.telemetry, begun)


@router.post("/{session_id}/commit")
async def commit(who: Who, session_id: str, body: NewCommit | None = None) -> dict[str, object]:
    """Freeze the messages, and learn from them in the background; the task tells what came of it."""
    begun = time.monotonic()
    body = body or NewCommit()
    done = await who.sessions.commit(who.user, session_id, keep_recent=body.keep_recent_count)
    return _answered(done, "session.commit", body.telemetry, begun)


def _answered(result: object, operation: str, telemetry: Telemetry, begun: float) -> dict[str, object]:
    """Return the envelope, with how long it took where that was asked for."""
    if not telemetry:
        return ok(result)
    took = round((time.monotonic() - begun) * 1000, 3)
    summary = {"operation": operation, "status": "ok", "duration_ms": took}
    return ok(result, telemetry={"id": f"tm_{uuid.uuid4().hex}", "summary": summary})
