"""Which format a record has: told by its content, never by the file's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.importers.jsontext import RecordError, as_object
from trainer.importers.openai_chat import FORMAT as CHAT
from trainer.importers.openai_chat import matches as is_chat
from trainer.importers.openai_chat import read as read_chat
from trainer.importers.rollout_json import FORMAT as ROLLOUT
from trainer.importers.rollout_json import matches as is_rollout
from trainer.importers.rollout_json import read as read_rollout
from trainer.importers.tau_bench import FORMAT as TAU_BENCH
from trainer.importers.tau_bench import matches as is_tau_bench
from trainer.importers.tau_bench import read as read_tau_bench

if TYPE_CHECKING:
    from pydantic import JsonValue

    from trainer.domain import Rollout

FORMATS = (
    (TAU_BENCH, is_tau_bench, read_tau_bench),
    (ROLLOUT, is_rollout, read_rollout),
    (CHAT, is_chat, read_chat),
)
"""Name, test and reader, in this order: a later one takes what an earlier one leaves."""

UNDERSTOOD = (
    "tau-bench v1 results (a JSON array), RFC rollouts (one JSON object per line), "
    'or one {"messages": [...], "score": 0.5} per line'
)
"""The formats, for messages to people."""


def recognised(value: JsonValue) -> bool:
    """Say whether some format claims this value."""
    return isinstance(value, dict) and any(matches(value) for _, matches, _ in FORMATS)


def read_record(value: JsonValue) -> tuple[str, Rollout]:
    """Return the format's name and the rollout; `RecordError` says why there is none."""
    record = as_object(value, "the record")
    for name, matches, read in FORMATS:
        if matches(record):
            return name, read(record)
    keys = ", ".join(sorted(record)[:8]) or "none"
    raise RecordError(f"not a format that is understood (keys: {keys[:200]})")
