"""Which format a record has: told by its content, never by the file's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.importers import openai_chat, rollout_json, tau_bench
from trainer.importers.jsontext import RecordError, as_object

if TYPE_CHECKING:
    from pydantic import JsonValue

    from trainer.domain import Rollout

FORMATS = (tau_bench, rollout_json, openai_chat)
"""In this order: a later one takes what an earlier one leaves."""

UNDERSTOOD = (
    "tau-bench v1 results (a JSON array), RFC rollouts (one JSON object per line), "
    'or one {"messages": [...], "score": 0.5} per line'
)
"""The formats, for messages to people."""


def recognised(value: JsonValue) -> bool:
    """Say whether some format claims this value."""
    return isinstance(value, dict) and any(form.matches(value) for form in FORMATS)


def read_record(value: JsonValue) -> tuple[str, Rollout]:
    """Return the format's name and the rollout; `RecordError` says why there is none."""
    record = as_object(value, "the record")
    for form in FORMATS:
        if form.matches(record):
            return form.FORMAT, form.read(record)
    keys = ", ".join(sorted(record)[:8]) or "none"
    raise RecordError(f"not a format that is understood (keys: {keys[:200]})")
