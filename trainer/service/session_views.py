"""Sessions, commits and tasks as the JSON that clients of OpenViking know."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trainer.service.session_errors import InvalidRequestError
from trainer.service.session_messages import tokens_in
from trainer.service.session_uris import archive_name, archive_uri, diff_uri, session_uri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from trainer.service.session_rows import Archive, SessionRow, Task

Json = dict[str, "JsonValue"]

LEARNED = ("cases", "experiences", "trajectories")
"""The kinds of memory that are learned here."""
KNOWN = frozenset(
    {
        *LEARNED,
        "entities",
        "events",
        "identity",
        "patterns",
        "preferences",
        "profile",
        "session_skills",
        "skills",
        "soul",
        "tools",
    }
)
"""The kinds that clients may ask for; those that are not LEARNED are passed over."""
ACCOUNT = "default"


def checked_policy(policy: JsonValue) -> None:
    """Check a session's memory policy. Raises InvalidRequestError for kinds of memory that nobody knows."""
    types = policy.get("memory_types") if isinstance(policy, dict) else None
    names = [str(name) for name in types] if isinstance(types, list) else []
    unknown = sorted({name for name in names if name not in KNOWN})
    if unknown:
        raise InvalidRequestError(
            f"Unknown memory_policy.memory_types: {', '.join(unknown)[:200]}",
            hint=f"known are {', '.join(sorted(KNOWN))}",
        )


def effective_types(settings: Json) -> list[str]:
    """Return which of LEARNED a session wants; all where it does not say."""
    policy = settings.get("memory_policy")
    types = policy.get("memory_types") if isinstance(policy, dict) else None
    return [name for name in LEARNED if name in types] if isinstance(types, list) else list(LEARNED)


def created_view(row: SessionRow) -> Json:
    """Return a session that was just made."""
    return {
        "session_id": row.id,
        "uri": session_uri(row.owner, row.id),
        "user": {"account_id": ACCOUNT, "user_id": row.owner},
        "auto_commit_policy": None,
        "memory_extraction_config": row.settings.get("memory_extraction_config") or {"events": {"tags": []}},
    }


def session_view(row: SessionRow, total: int) -> Json:
    """Return a session; `total` is the number of its messages, archived ones included."""
    return {
        "session_id": row.id,
        "uri": session_uri(row.owner, row.id),
        "user": {"account_id": ACCOUNT, "user_id": row.owner},
        "created_at": iso(row.created),
        "updated_at": iso(row.updated),
        "message_count": row.messages,
        "total_message_count": total,
        "commit_count": row.archives,
        "pending_tokens": row.tokens,
        "memory_policy": row.settings.get("memory_policy"),
    }


def listed_view(row: SessionRow) -> Json:
    """Return a session of a list."""
    return {
        "session_id": row.id,
        "uri": session_uri(row.owner, row.id),
        "is_dir": True,
        "mod_time": iso(row.updated),
    }


def context_view(messages: Sequence[Json], budget: int) -> Json:
    """Return the newest messages that have at most so many tokens together."""
    shown: list[JsonValue] = []
    used = 0
    for message in reversed(messages):
        used += tokens_in(message)
        if used > budget:
            used -= tokens_in(message)
            break
        shown.insert(0, message)
    return {
        "latest_archive_overview": "",
        "pre_archive_abstracts": [],
        "messages": shown,
        "estimatedTokens": used,
        "stats": {"totalArchives": 0, "includedArchives": 0, "activeTokens": used},
    }


def archive_view(archive: Archive) -> Json:
    """Return an archive with its messages."""
    return {
        "archive_id": archive_name(archive.number),
        "uri": archive_uri(archive.owner, archive.session, archive.number),
        "created_at": iso(archive.created),
        "abstract": "",
        "overview": "",
        "task_id": archive.task,
        "policy_commit": archive.policy,
        "messages": [dict(row) for row in archive.messages],
    }


def commit_view(row: SessionRow, number: int, task: str, trace: str) -> Json:
    """Return what a commit has begun; number 0 = there was nothing to commit."""
    if not number:
        return {
            "session_id": row.id,
            "status": "skipped",
            "task_id": None,
            "archive_uri": None,
            "archived": False,
            "reason": "no_messages",
        }
    return {
        "session_id": row.id,
        "status": "accepted",
        "task_id": task,
        "archive_uri": archive_uri(row.owner, row.id, number),
        "archived": True,
        "effective_enable_working_memory": False,
        "trace_id": trace,
        "estimated_active_tokens": row.tokens,
        "budget_exceeded": False,
    }


def task_view(task: Task) -> Json:
    """Return a task. `result` is there when it is done, also of what a failed one has learned."""
    end = task.ended or task.updated
    return {
        "task_id": task.id,
        "task_type": "session_commit",
        "status": task.status,
        "created_at": task.created,
        "updated_at": task.updated,
        "processing_seconds": round(max(0.0, end - task.started), 3) if task.started else None,
        "resource_id": task.session,
        "meta": {},
        "stage": task.status,
        "result": _result(task),
        "error": task.error,
        "created_at_iso": iso(task.created),
        "updated_at_iso": iso(task.updated),
    }


def iso(seconds: float) -> str:
    """Return a time as clients read it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _result(task: Task) -> JsonValue:
    if task.result is None:
        return None
    return {
        "session_id": task.session,
        "archive_uri": archive_uri(task.owner, task.session, task.number),
        "session_skills_extracted": 0,
        "session_skill_uris": [],
        "memory_extraction": {"skipped": 0, "skipped_operations": []},
        "usage_events_extracted": 0,
        "agent_evolution_enabled": True,
        "memory_diff_uri": diff_uri(task.owner, task.session, task.number),
        **task.result,
    }
