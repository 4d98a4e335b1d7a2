"""Cases of recordings that say more or less of what the task was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import Case
from trainer.importers.scoring import reward_rubric
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from trainer.domain import Message, Rubric

MAX_CASE_NAME = 80
"""A longer text is the task itself, not its name."""


def is_name(text: str) -> bool:
    """Say whether a text can be the name of a case."""
    return 0 < len(text) <= MAX_CASE_NAME and "\n" not in text


def named_case(
    name: str,
    query: str = "",
    *,
    given: dict[str, JsonValue] | None = None,
    metadata: dict[str, JsonValue] | None = None,
    rubric: Rubric | None = None,
) -> Case:
    """Return the case of this name, which all attempts at it share; a name that is none becomes a hash."""
    name = name if is_name(name) else f"case_{content_id(name)[:12]}"
    asked: dict[str, JsonValue] = {"user_query": query} if query else {}
    return Case(
        name=name,
        task_signature=name,
        input={**asked, **(given or {})},
        rubric=rubric or reward_rubric(name),
        metadata=metadata or {},
    )


def query_case(query: str, metadata: dict[str, JsonValue] | None = None) -> Case:
    """Return the case of a task that has no name: attempts at the same text share it."""
    return named_case(f"case_{content_id(query)[:12]}", query, metadata=metadata)


def first_query(messages: Sequence[Message]) -> str:
    """Return what the user said first; where nobody was a user, what was said first."""
    said = [m.text for m in messages if m.role == "user" and m.text.strip()]
    return said[0] if said else messages[0].text if messages else ""
