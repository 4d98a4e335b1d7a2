"""Which format a record has: told by its content, never by the file's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.importers.atif import ATIF
from trainer.importers.claude_code import NAME as CLAUDE_CODE
from trainer.importers.claude_code import is_entry
from trainer.importers.form import Flaw
from trainer.importers.inspect_log import INSPECT
from trainer.importers.jsontext import RecordError, as_object
from trainer.importers.mini_swe_agent import MINI_SWE_AGENT
from trainer.importers.openai_chat import CHAT
from trainer.importers.openinference_trace import OPENINFERENCE
from trainer.importers.rollout_json import ROLLOUT
from trainer.importers.swe_agent import SWE_AGENT
from trainer.importers.tau2_results import TAU2
from trainer.importers.tau_bench import TAU_BENCH

if TYPE_CHECKING:
    from pydantic import JsonValue

    from trainer.domain import Rollout
    from trainer.importers.form import Format, Found

FORMATS: tuple[Format, ...] = (
    TAU_BENCH,
    TAU2,
    ATIF,
    INSPECT,
    OPENINFERENCE,
    SWE_AGENT,
    MINI_SWE_AGENT,
    ROLLOUT,
    CHAT,
)
"""In this order: a later one takes what an earlier one leaves. Lines of Claude Code are read by `joining`;
so are spans, of which one record rarely holds all."""
NAMES = tuple(sorted([*(form.name for form in FORMATS), CLAUDE_CODE]))
"""What `--format` takes."""
UNDERSTOOD = (
    "tau-bench v1 and tau2 results, ATIF, Claude Code sessions, SWE-agent and mini-swe-agent trajectories, "
    "Inspect logs, OpenInference spans, RFC rollouts (one JSON object per line), "
    'or one {"messages": [...], "score": 0.5} per line'
)
"""The formats, for messages to people."""


def recognised(value: JsonValue) -> bool:
    """Say whether some format claims this value."""
    return isinstance(value, dict) and (is_entry(value) or any(form.matches(value) for form in FORMATS))


def format_of(record: dict[str, JsonValue], forced: str = "") -> Format:
    """Return the format of a record. `RecordError` where none claims it, or not the one that is forced."""
    wanted = [form for form in FORMATS if forced in ("", form.name)]
    for form in wanted:
        if form.matches(record):
            return form
    keys = ", ".join(sorted(record)[:8]) or "none"
    other = next((form.name for form in FORMATS if forced and form.matches(record)), "")
    what = f"this is no record of {forced}" if forced else "not a format that is understood"
    raise RecordError(f"{what}, but one of {other}" if other else f"{what} (keys: {keys[:200]})")


def read_all(value: JsonValue, forced: str = "") -> tuple[str, list[Found | Flaw]]:
    """Return the format's title and what the record holds; `RecordError` says why there is nothing in it.

    What was found before a record breaks is not lost: the break is the last of the list.
    """
    form = format_of(as_object(value, "the record"), forced)
    found: list[Found | Flaw] = []
    try:
        for item in form.read(as_object(value, "the record")):
            found.append(item)  # noqa: PERF402  # what comes before an error counts
    except RecordError as error:
        if not found:
            raise
        found.append(Flaw(str(error)))
    return form.title, found


def read_record(value: JsonValue) -> tuple[str, Rollout]:
    """Return the format's title and the one rollout of a record; `RecordError` says why there is none."""
    title, found = read_all(value)
    for item in found:
        if not isinstance(item, Flaw):
            return title, item.rollout
    raise RecordError("; ".join(item.why for item in found if isinstance(item, Flaw)) or "nothing is in it")
