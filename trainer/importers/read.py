"""Read recorded rollouts of every format that is understood."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.importers.claude_code import NAME as CLAUDE_CODE
from trainer.importers.detect import NAMES, UNDERSTOOD, read_all
from trainer.importers.form import Flaw, Found
from trainer.importers.joining import Joining
from trainer.importers.jsontext import RecordError
from trainer.importers.scores import Scores, harbor_reward
from trainer.importers.source import Problem, Record, check_readable, read_records
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from trainer.domain import Rollout

_SHOWN = 3  # problems that an error message quotes


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read."""

    form: str = ""
    """One of `detect.NAMES`; "" = the content of each record tells."""
    scores: Path | None = None
    """A file of scores for what has none of its own, or another one (see `scores`)."""


AS_FOUND = Reading()


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
    remarks: tuple[Problem, ...] = ()
    """What was imported all the same, and what is wrong with the file of scores."""


def iter_rollouts(paths: Iterable[str | Path], reading: Reading = AS_FOUND) -> Iterator[Imported | Problem]:
    """Yield rollouts and problems as they are read; files of JSON lines are streamed in bounded memory.

    What is joined of several records or files comes when all is read. Every path is checked before the first
    is read: `UsageError` for one that is missing, a directory or not readable, for a format that there is
    not, and for a file of scores that is none. A broken record is a `Problem` and the rest goes on.
    """
    files = [Path(path) for path in paths]
    if reading.form not in ("", *NAMES):
        raise UsageError(f"there is no format '{reading.form}'", hint=f"there are {', '.join(NAMES)}")
    for file in files:
        check_readable(file)
    scores = Scores.read(reading.scores) if reading.scores else None
    yield from scores.problems if scores else ()
    seen: dict[str, str] = {}
    for item in _Files(files, reading.form, scores).items():
        if isinstance(item, Problem):
            yield item
            continue
        here = f"{item.path}:{item.line}" if item.line else item.path
        first = seen.setdefault(item.rollout.id, here)
        if first is here:
            yield item
        else:
            yield Problem(item.path, item.line, f"the same rollout as {first}", "duplicate")
    yield from scores.unused() if scores else ()


@dataclass(slots=True)
class _Files:
    """The records of some files as rollouts."""

    files: list[Path]
    form: str
    scores: Scores | None

    def items(self) -> Iterator[Imported | Problem]:
        """Yield all of them."""
        joining = Joining(self.form, several=len(self.files) > 1)
        for file in self.files:
            yield from self._file(file, joining)
        yield from self._held(joining)

    def _file(self, file: Path, joining: Joining) -> Iterator[Imported | Problem]:
        """Yield what one file holds; with scores each waits until it is known whether it is the only one."""
        waiting: tuple[Record, str, Found] | None = None
        count = 0
        for record in read_records(file):
            if isinstance(record, Problem):
                yield record
                continue
            told = joining.take(record)
            if told is not None:
                yield from told
                if joining.is_full:
                    yield from self._held(joining)
                continue
            for item in self._record(record):
                if isinstance(item, Problem):
                    yield item
                    continue
                if self.scores is None:
                    yield from self._scored(record, *item, only=False)
                    continue
                if waiting is not None:
                    yield from self._scored(*waiting, only=False)
                waiting = (record, *item)
                count += 1
        if waiting is not None:
            yield from self._scored(*waiting, only=count == 1)

    def _record(self, record: Record) -> Iterator[tuple[str, Found] | Problem]:
        """Yield what one record holds."""
        if self.form == CLAUDE_CODE:
            yield Problem(record.path, record.line, f"this is no record of {self.form}")
            return
        try:
            title, found = read_all(record.value, self.form)
        except RecordError as error:
            yield Problem(record.path, record.line, str(error))
            return
        for item in found:
            if isinstance(item, Flaw):
                yield Problem(record.path, record.line, item.why, item.kind)
            else:
                yield title, item

    def _held(self, joining: Joining) -> Iterator[Imported | Problem]:
        """Yield what was held to be joined."""
        joined = list(joining.give())
        counts = Counter(one.path for one in joined)
        for one in joined:
            if isinstance(one.found, RecordError):
                yield Problem(one.path, one.line, str(one.found))
            else:
                place = Record(one.path, one.line, None)
                yield from self._scored(place, one.title, one.found, only=counts[one.path] == 1)

    def _scored(
        self, record: Record, title: str, found: Found, *, only: bool
    ) -> Iterator[Imported | Problem]:
        rollout, problem = found.rollout, None
        if rollout.evaluation is None and (reward := harbor_reward(record.path)):
            rollout = rollout.model_copy(update={"evaluation": reward})
            found = Found(rollout, found.keys)
        if self.scores is not None:
            rollout, problem = self.scores.scored(found, record.path, record.line, only=only)
        if problem is not None:
            yield problem
        yield Imported(rollout, record.path, record.line, title)


def no_rollouts(problems: Sequence[Problem]) -> UsageError:
    """Return the error of files that hold no rollout, with the first reasons."""
    shown = [str(problem) for problem in problems[:_SHOWN]] or ["no file was given"]
    more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
    return UsageError(
        f"no rollout was found: {'; '.join(shown)}{more}", hint=f"what can be read: {UNDERSTOOD}"
    )


def read_rollouts(paths: Iterable[str | Path], reading: Reading = AS_FOUND) -> ImportResult:
    """Return all rollouts of the files; `UsageError` as `iter_rollouts`, and when there is none at all."""
    rollouts: list[Rollout] = []
    problems: list[Problem] = []
    formats: Counter[str] = Counter()
    for item in iter_rollouts(paths, reading):
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
        tuple(problem for problem in problems if problem.kind in {"warning", "score"}),
    )
