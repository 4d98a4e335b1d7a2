"""memory_diff.json (RFC §11.1): what a commit of a session changed, read from the git commits themselves.

It is made when somebody asks for it. So it has every page that was written or deleted, and nothing else,
whatever decided it, and cannot disagree with the history.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trainer.service.session_uris import archive_uri
from trainer.service.uris import experience_uri
from xpstore import events
from xpstore.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from trainer.service.session_rows import Archive
    from xpstore.events import Change
    from xpstore.location import Location

KIND = "experiences"


def memory_diff(
    location: Location, archive: Archive, plans: Mapping[str, str], when: float, nothing: Mapping[str, str]
) -> dict[str, JsonValue]:
    """Return what the commits of these plans (id → commit) changed.

    `when` is when it was learned, in seconds since 1970; `nothing` why a rollout taught nothing. Texts are
    bodies, without front matter. Each operation names its plan and commit; a page that two plans changed has
    an operation for each. A plan whose commit is no longer there is among the skipped.
    """
    found: dict[str, list[JsonValue]] = {"adds": [], "updates": [], "deletes": []}
    skipped: list[JsonValue] = [{"reason": why, "rollout": i} for i, why in sorted(nothing.items())]
    for plan, commit in plans.items():
        if not commit:
            skipped.append({"reason": "no branch has its commit any more", "plan_id": plan})
            continue
        entry = events.any_entry(location, commit)
        for change in entry.changes:
            for kind, operation in _operations(location, archive.owner, change):
                found[kind].append({**operation, "plan_id": plan, "commit": entry.commit})
    summary: dict[str, JsonValue] = {f"total_{kind}": len(rows) for kind, rows in found.items()}
    return {
        "archive_uri": archive_uri(archive.owner, archive.session, archive.number),
        "trace_id": archive.trace,
        "extracted_at": datetime.fromtimestamp(when, UTC).isoformat().replace("+00:00", "Z"),
        "operations": {kind: list(rows) for kind, rows in found.items()},
        "skipped_operations": skipped,
        "summary": {**summary, "total_skipped": len(skipped)},
    }


def _operations(location: Location, user: str, change: Change) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    """Yield what became of a file; a page with another name is one deleted and one added."""
    before, after = _body(location, change.before), _body(location, change.after)
    new: dict[str, JsonValue] = {"uri": experience_uri(user, change.name), "memory_type": KIND}
    is_moved = bool(change.old_name) and change.old_name != change.name
    if before is not None and (after is None or is_moved):
        old = experience_uri(user, change.old_name or change.name)
        yield "deletes", {"uri": old, "memory_type": KIND, "deleted_content": before}
    if after is not None and (before is None or is_moved):
        yield "adds", {**new, "after": after}
    elif before is not None and after is not None:
        yield "updates", {**new, "before": before, "after": after}


def _body(location: Location, blob: str) -> str | None:
    """Return the text of a page without its front matter; None where there is no file."""
    if not blob.strip("0"):
        return None
    return Document.parse(location.repo.blob(blob).decode("utf-8", "replace")).body.lstrip("\n")
