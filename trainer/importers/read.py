"""Read recorded rollouts of every format that is understood."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.importers.detect import UNDERSTOOD, read_record
from trainer.importers.jsontext import RecordError
from trainer.importers.source import Problem, check_readable, read_records
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from trainer.domain import Rollout

_SHOWN = 3  # problems that an error message quotes


@dataclass(frozen=True, slots=True)
class Imported:
    """One rollout and where it was found."""

    rollout: Rollout
    path: str
    line: int
    format: str


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What some files held, in the order of the files and their records."""

    rollouts: tuple[Rollout, ...]
    problems: tuple[Problem, ...]
    """Records (or whole files) that are broken, with the reason."""
    duplicates: tuple[Problem, ...]
    """Records with the same content as an earlier one; that one counts."""
    formats: dict[str, int]
    """Rollouts per format."""


def iter_rollouts(paths: Iterable[str | Path]) -> Iterator[Imported | Problem]:
    """Yield rollouts and problems as they are read; files of JSON lines are streamed in bounded memory.

    Every path is checked before the first is read: `UsageError` for one that is missing, a directory or
    not readable. A broken record is a `Problem` and the rest goes on.
    """
    files = [Path(path) for path in paths]
    for file in files:
        check_readable(file)
    seen: dict[str, str] = {}
    for file in files:
        for record in read_records(file):
            if isinstance(record, Problem):
                yield record
                continue
            try:
                form, rollout = read_record(record.value)
            except RecordError as error:
                yield Problem(record.path, record.line, str(error))
                continue
            here = f"{record.path}:{record.line}"
            first = seen.setdefault(rollout.id, here)
            if first is here:
                yield Imported(rollout, record.path, record.line, form)
            else:
                yield Problem(record.path, record.line, f"the same rollout as {first}", "duplicate")


def no_rollouts(problems: Sequence[Problem]) -> UsageError:
    """Return the error of files that hold no rollout, with the first reasons."""
    shown = [str(problem) for problem in problems[:_SHOWN]] or ["no file was given"]
    more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
    return UsageError(
        f"no rollout was found: {'; '.join(shown)}{more}", hint=f"what can be read: {UNDERSTOOD}"
    )


def read_rollouts(paths: Iterable[str | Path]) -> ImportResult:
    """Return all rollouts of the files; `UsageError` as `iter_rollouts`, and when there is none at all."""
    rollouts: list[Rollout] = []
    problems: list[Problem] = []
    formats: Counter[str] = Counter()
    for item in iter_rollouts(paths):
        if isinstance(item, Problem):
            problems.append(item)
        else:
            rollouts.append(item.rollout)
            formats[item.format] += 1
    if not rollouts:
        raise no_rollouts(problems)
    return ImportResult(
        tuple(rollouts),
        tuple(problem for problem in problems if problem.kind == "broken"),
        tuple(problem for problem in problems if problem.kind == "duplicate"),
        dict(formats),
    )
