"""What the verbs that run cases share: options, progress, and how a stage is shown."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, TypeVar

import click

from xpstore.cli.output import counted, grouped, note, one_line, paint, progress
from xpstore.errors import UsageError, XpError
from xpstore.settings import MOST_TRIALS
from xpstore.worktree import has_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from trainer.report import CaseScore, Stage
    from xpstore.cli.app import App
    from xpstore.location import Location

    Decorated = TypeVar("Decorated", bound=Callable[..., None])

FAILURES_SHOWN = 10
CASES_SHOWN = 3
AT_LEAST_ONE = click.IntRange(min=1)
TRIALS = click.IntRange(min=1, max=MOST_TRIALS)
TIME_LIMIT = 600.0


case_option = click.option(
    "--case", "cases", multiple=True, metavar="NAME", help="Only this case of the suite; may be repeated."
)


def running_options(command: Decorated) -> Decorated:
    """Add the options of what evaluates a suite: those of everything that runs cases, and how many."""
    return click.option(
        "--eval-limit", type=AT_LEAST_ONE, metavar="N", help="Evaluate on the first N cases only."
    )(limit_options(command))


def limit_options(command: Decorated) -> Decorated:
    """Add the options of everything that runs cases: time limit, seed, parallelism."""
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        metavar="N",
        help="What the seeds of all trials are derived from.  [default: as xp.toml says]",
    )(parallel_options(command))


def parallel_options(command: Decorated) -> Decorated:
    """Add the options of what draws its own seeds: time limit, parallelism."""
    for option in (
        click.option(
            "--time-limit",
            type=click.FloatRange(min=0, min_open=True),
            default=TIME_LIMIT,
            show_default=True,
            metavar="SECONDS",
            help="What one rollout may take.",
        ),
        click.option(
            "--concurrency",
            "parallel",
            type=AT_LEAST_ONE,
            default=8,
            show_default=True,
            metavar="N",
            help="How many rollouts run at once.",
        ),
    ):
        command = option(command)
    return command


class Stages:
    """A context that draws progress on a terminal between the stages, and writes each stage as it ends.

    `interrupted` is said to somebody who presses Ctrl-C.
    """

    def __init__(self, interrupted: str = "") -> None:
        self._interrupted = interrupted
        self._bars = ExitStack()
        self._draw: Callable[[str, int, int], None] | None = None
        self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if kind is KeyboardInterrupt and self._interrupted:
            note(self._interrupted)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Draw how far a stage is, where anybody sees it."""
        if not self._is_open:
            self._draw = self._bars.enter_context(progress())
            self._is_open = True
        if self._draw:
            self._draw(stage.replace("_", " "), done, total)

    def say(self, lines: Iterator[str]) -> None:
        """Write lines to standard output, where no bar is drawn at the moment."""
        self._close()
        for line in lines:
            click.echo(line)

    def _close(self) -> None:
        self._bars.close()
        self._is_open = False


def note_uncommitted(location: Location, folder: str, what: str) -> None:
    """Say on standard error that changes of a folder are not committed: commits are what is run."""
    top = location.repo.workdir
    if top is not None and has_changes(top, location.in_tree(folder)):
        note(f"{folder}/ has changes that are not committed; {what}")


def describe_stage(line: str, stage: Stage) -> Iterator[str]:
    """Yield a stage's line, what a reader should know of it, and which cases could not be scored."""
    yield paint(line)
    if stage.remarks:
        yield paint(f"  {'; '.join(stage.remarks)}")
    for error, count in grouped([failure.error for failure in stage.failures], FAILURES_SHOWN):
        cases = list(dict.fromkeys(one_line(f.name) for f in stage.failures if f.error == error))
        some = [*cases[:CASES_SHOWN], *(["…"] if len(cases) > CASES_SHOWN else [])]
        yield paint(f"  {count:4}  {', '.join(some)}: {error}" if some else f"  {count:4}  {error}")


def describe_cases(cases: tuple[CaseScore, ...]) -> Iterator[str]:
    """Yield a row per case, the worst first."""
    for case in sorted(cases, key=lambda c: (c.passed / c.n if c.n else -1.0, c.name)):
        unscored = f"  {counted(case.failures, 'trial')} not scored" if case.failures else ""
        yield paint(f"  {f'{case.passed}/{case.n}':>7}  {one_line(case.name)}{unscored}")


def write_report(app: App, name: str, value: Mapping[str, object]) -> None:
    """Write a report to a file. Raises XpError."""
    file = app.cwd / name
    try:
        file.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise XpError(f"cannot write {file}: {error.strerror}", hint="all the rest is done") from error


def check_report(app: App, name: str) -> None:
    """Raise UsageError where a report cannot be written, before anything is run for it."""
    file = app.cwd / name
    if file.is_dir():
        raise UsageError(f"cannot write a report to '{name}'", hint="it is a folder: name a file")
    if not file.parent.is_dir():
        raise UsageError(f"cannot write a report to '{name}'", hint=f"there is no folder {file.parent}")
