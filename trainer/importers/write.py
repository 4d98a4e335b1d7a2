"""Rollouts as a file of JSON lines, and what they hold, counted."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from xpstore.durable import flush
from xpstore.errors import XpError
from xpstore.hashing import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from trainer.domain import Rollout

_DRAFT = ".draft"


@dataclass(slots=True)
class Counts:
    """What some rollouts hold."""

    rollouts: int = 0
    messages: int = 0
    """Whatever is said in a turn, with its calls, is one; so is a result that answers no call."""
    tool_calls: int = 0
    results: int = 0
    """Calls that were answered, and results that answer no call."""
    errors: int = 0
    """Calls that ended in an error."""
    scored: int = 0
    passed: int = 0
    formats: dict[str, int] = field(default_factory=dict)
    """Format → rollouts."""

    def add(self, rollout: Rollout, form: str) -> None:
        """Count a rollout."""
        tools = [tool for message in rollout.messages for tool in message.tools]
        alone = sum(
            message.role in {"tool", "function"} and not message.tools for message in rollout.messages
        )
        self.rollouts += 1
        self.messages += len(rollout.messages)
        self.tool_calls += len(tools)
        self.results += alone + sum(tool.tool_status != "pending" for tool in tools)
        self.errors += sum(tool.tool_status == "error" for tool in tools)
        self.scored += rollout.evaluation is not None
        self.passed += rollout.evaluation is not None and rollout.evaluation.passed
        self.formats[form] = self.formats.get(form, 0) + 1


def to_line(rollout: Rollout) -> bytes:
    """Return a rollout as a line of JSON; read back it has the same id."""
    return canonical_json(rollout.model_dump(mode="json")) + b"\n"


@contextmanager
def whole_file(file: Path) -> Iterator[IO[bytes]]:
    """Give a stream whose bytes take the place of the file at the end: all of them, or, on any error, none.

    What is no file, such as a device or a pipe, is written to directly. Raises XpError where that cannot be.
    """
    if file.exists() and not file.is_file():
        with file.open("wb") as stream:
            yield stream
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}{_DRAFT}")
    try:
        with draft.open("wb") as stream:
            yield stream
            stream.flush()
            flush([stream.fileno()])
        draft.replace(file)
    except BaseException as error:  # Ctrl-C too must leave no draft
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            why = error.strerror or str(error)
            raise XpError(f"cannot write {file}: {why}", hint="name a file in a folder of yours") from error
        raise
