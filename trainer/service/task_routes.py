"""The routes of tasks: what became of a commit, trying it again, stopping it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query

from trainer.service.envelope import ok
from trainer.service.tenants import Tenant, tenant_of

router = APIRouter(prefix="/api/v1/tasks", tags=["tasks"])
Who = Annotated[Tenant, Depends(tenant_of)]


@router.get("")
async def listed(  # the parameters of the route
    who: Who,
    task_type: str = "",
    status: Literal["", "pending", "running", "cancelling", "completed", "failed", "cancelled"] = "",
    resource_id: str = "",
    limit: Annotated[int, Query(ge=0, le=1_000)] = 50,
) -> dict[str, object]:
    """List the tasks of whoever calls, the newest first; `resource_id` is a session."""
    found = await who.sessions.tasks(
        who.user, task_type=task_type, status=status, session=resource_id, limit=limit
    )
    return ok(found)


@router.get("/{task_id}")
async def get(who: Who, task_id: str) -> dict[str, object]:
    """Tell of a task: its state, and what was learned, or why nothing was."""
    return ok(await who.sessions.task(who.user, task_id))


@router.post("/{task_id}/retry")
async def retry(who: Who, task_id: str) -> dict[str, object]:
    """Try a failed task again. What it has learned already is not learned twice."""
    return ok(await who.sessions.retry(who.user, task_id))


@router.post("/{task_id}/cancel")
async def cancel(who: Who, task_id: str) -> dict[str, object]:
    """Stop a task. What it has taught already stays: xp revert takes that back."""
    return ok(await who.sessions.cancel(who.user, task_id))
