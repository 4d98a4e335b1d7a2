"""Lines of Claude Code's JSONL: entries that name their parent. `claude_session` joins them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.importers.form import texts

if TYPE_CHECKING:
    from pydantic import JsonValue

NAME = "claude-code"
FORMAT = "Claude Code"
MESSAGES = frozenset({"user", "assistant"})
SILENT = frozenset(
    {
        "summary",
        "system",
        "attachment",
        "progress",
        "file-history-snapshot",
        "queue-operation",
        "last-prompt",
        "custom-title",
        "ai-title",
        "agent-name",
        "agent-color",
        "agent-setting",
        "mode",
        "permission-mode",
        "pr-link",
        "tag",
        "worktree-state",
        "content-replacement",
        "saved_hook_context",
        "marble-origami-commit",
        "marble-origami-snapshot",
    }
)
"""Types that say nothing of the conversation."""
_CLEAR = re.compile(r"\s*<command-name>/(?:clear|new|reset)</command-name>")
_INJECTED = re.compile(r"\s*<(?:command-\w+|local-command-\w+|system-reminder|bash-\w+|task-notification)>")
_MAJOR = re.compile(r"[012]\.\d+\.\d+")


@dataclass(slots=True)
class Entry:
    """What is kept of a line."""

    uuid: str
    parent: str
    session: str
    kind: str
    place: tuple[str, int]
    """File and line."""
    order: int
    time: str = ""
    is_side: bool = False
    agent: str = ""
    """The id of a side agent: the one that speaks, or on a result the one that gave it."""
    role: str = ""
    content: JsonValue = None
    message_id: str = ""
    is_meta: bool = False
    """Put in by the program, not typed by anybody."""
    about: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def is_message(self) -> bool:
        """Whether anybody says something."""
        return bool(self.role)

    @property
    def is_clear(self) -> bool:
        """Whether the conversation begins anew here."""
        return self.role == "user" and isinstance(self.content, str) and bool(_CLEAR.match(self.content))

    @property
    def calls(self) -> dict[str, JsonValue]:
        """The tool calls: id → arguments."""
        return {str(p.get("id", "")): p.get("input") for p in self._parts("tool_use")}

    @property
    def answers(self) -> list[str]:
        """The ids of the calls that this entry answers."""
        return [str(part.get("tool_use_id", "")) for part in self._parts("tool_result")]

    @property
    def text(self) -> str:
        """The text, where it is nothing else."""
        parts = self.content if isinstance(self.content, list) else []
        texts = [part.get("text") for part in parts if isinstance(part, dict)]
        return self.content if isinstance(self.content, str) else "\n".join(map(str, texts))

    def _parts(self, kind: str) -> list[dict[str, JsonValue]]:
        parts = self.content if isinstance(self.content, list) else []
        return [part for part in parts if isinstance(part, dict) and part.get("type") == kind]


def is_entry(record: dict[str, JsonValue]) -> bool:
    """Say whether a line is one of Claude Code's."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if isinstance(record.get("uuid"), str) and isinstance(record.get("sessionId"), str):
        return kind in MESSAGES or kind in SILENT or isinstance(record.get("parentUuid"), str)
    return kind in SILENT and "messages" not in record and len(record) > 1


def is_known(record: dict[str, JsonValue]) -> bool:
    """Say whether the type and the version of a line are known."""
    version = record.get("version")
    is_version = version is None or (isinstance(version, str) and bool(_MAJOR.match(version)))
    return is_version and str(record.get("type")) in MESSAGES | SILENT


def entry(record: dict[str, JsonValue], place: tuple[str, int], order: int) -> Entry | None:
    """Return what is kept of a line; None where it is no part of a conversation."""
    uuid = record.get("uuid")
    if not isinstance(uuid, str) or not uuid:
        return None
    kind = str(record.get("type"))
    result = record.get("toolUseResult")
    found = Entry(
        uuid=uuid,
        parent=_text(record.get("parentUuid")) or _text(record.get("logicalParentUuid")),
        session=_text(record.get("sessionId")),
        kind=kind,
        place=place,
        order=order,
        time=_text(record.get("timestamp")),
        is_side=record.get("isSidechain") is True,
        agent=_text(record.get("agentId"))
        or (_text(result.get("agentId")) if isinstance(result, dict) else ""),
        about={key: record[key] for key in ("version", "gitBranch") if isinstance(record.get(key), str)},
    )
    message = record.get("message")
    if kind in MESSAGES and isinstance(message, dict):
        found.role = kind
        found.content = message.get("content")
        found.message_id = _text(message.get("id"))
        found.is_meta = record.get("isMeta") is True or record.get("isCompactSummary") is True
        if isinstance(message.get("model"), str):
            found.about["model"] = message["model"]
    elif record.get("subtype") == "compact_boundary":
        found.about["compacted"] = True
    return found


def is_injected(found: Entry) -> bool:
    """Say whether the program put this user message in: a command's output, a reminder, a summary."""
    if found.role != "user":
        return False
    return found.is_meta or (isinstance(found.content, str) and bool(_INJECTED.match(found.content)))


def _text(value: JsonValue) -> str:
    return next(iter(texts(value)), "")
