"""How a task came out, as an agent reports it: a rollout in the inbox, durable before the agent is answered.

What agents say is hostile text like any recording: redacted, bounded, and never believed further than the
learner and the gate believe it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING

from trainer.domain import READ, Message, Rollout, TextPart
from trainer.importers.cases import named_case, query_case
from trainer.importers.chat import read_messages
from trainer.importers.jsontext import RecordError, clean
from trainer.importers.scoring import reward_evaluation
from trainer.journal import received_files
from trainer.redaction import redact_rollout
from xpstore import evidence
from xpstore.errors import UsageError
from xpstore.events import need_whole_history
from xpstore.hashing import canonical_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.mcp_server.arguments import Report
    from xpstore.location import Location

MOST_BYTES = 4 << 20
"""Of one report as JSON."""
SOURCE = "report_outcome"


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a report."""

    rollout: str
    """Its id, for `xp inbox`."""
    snapshot: str
    read: tuple[str, ...]


class Outcomes:
    """Writes reports down, and remembers between them what was read."""

    def __init__(self) -> None:
        self._token = token_hex(8)
        self._numbers = count(1)
        self._read: dict[str, str] = {}

    def note_read(self, name: str, commit: str) -> None:
        """Remember that an experience was read at a commit."""
        self._read.pop(name, None)
        self._read[name] = commit  # the last one is the newest

    def report(self, loc: Location, report: Report, commit: str) -> Received:
        """Put a rollout on record; `commit` is its snapshot where nothing was read since the last report.

        Each report is an attempt of its own, also where two say the same. Raises UsageError for what is no
        report, and what writing evidence raises; nothing is on record then.
        """
        names = tuple(sorted(self._read)) if report.experiences is None else report.experiences
        snapshot = next(reversed(self._read.values()), commit)
        need_whole_history(loc)
        rollout = redact_rollout(self._rollout(report, names, snapshot))
        evidence.write(loc, received_files(rollout), "Receive 1 rollout that an agent reports")
        self._read.clear()
        return Received(rollout.id, snapshot, tuple(names))

    def _rollout(self, report: Report, names: tuple[str, ...], snapshot: str) -> Rollout:
        if report.outcome is None and report.score is None:
            raise UsageError("a report says how it came out", hint="give outcome (passed, failed) or score")
        task, feedback, case = _texts(report)
        metadata: dict[str, JsonValue] = {
            READ: list(names),
            "source": SOURCE,
            "report": f"{self._token}-{next(self._numbers)}",
        }
        passed = None if report.outcome is None else report.outcome == "passed"
        score = float(bool(passed)) if report.score is None else report.score
        return Rollout(
            case=named_case(case) if case else query_case(task),
            messages=_messages(report, task),
            policy_snapshot_id=snapshot,
            evaluation=reward_evaluation(
                score, SOURCE, passed=passed, feedback=(feedback,) if feedback else ()
            ),
            metadata=metadata,
        )


def size_checked(given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the arguments of a report in a form that files can hold.

    Raises UsageError where they are too long, too deep, or have numbers that JSON does not have.
    """
    try:
        cleaned = clean(dict(given))
    except RecordError as error:
        raise UsageError(f"the report cannot be kept: {error}") from None
    length = len(canonical_json(cleaned))
    if length > MOST_BYTES:
        raise UsageError(
            f"the report is {length:,} bytes long, and at most {MOST_BYTES:,} are kept",
            hint="leave out long outputs of tools",
        )
    return cleaned if isinstance(cleaned, dict) else {}


def _texts(report: Report) -> tuple[str, str, str]:
    task = report.task.strip()
    if not task:
        raise UsageError("the task is empty", hint="say what was asked for")
    return task, report.feedback.strip(), report.case.strip()


def _messages(report: Report, task: str) -> tuple[Message, ...]:
    try:
        messages = read_messages(list(report.messages)).messages
    except RecordError as error:
        raise UsageError(f"the conversation cannot be read: {error}") from None
    return messages or (Message(role="user", parts=(TextPart(text=task),)),)
