"""The options that say how recordings are read, and what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from xpstore.cli.output import counted, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from trainer.importers import Reading
    from xpstore.cli.app import App

    Decorated = TypeVar("Decorated", bound=Callable[..., None])

SHOWN = 5
OPTIONS = ("form", "scores")


def reading_options(command: Decorated) -> Decorated:
    """Add --format and --scores."""
    for option in (
        click.option("--scores", metavar="CSV|JSON", help="Scores by the ids of trajectories."),
        click.option("--format", "form", metavar="NAME", default="", help="Read as this format only."),
    ):
        command = option(command)
    return command


def take_reading(app: App, given: dict[str, object]) -> Reading:
    """Take the options out of those given. Raises UsageError where the file of scores is none."""
    form, scores = (str(given.pop(name) or "") for name in OPTIONS)
    from trainer.importers import Reading

    return Reading(form, app.file(scores) if scores else None)


def tell_problems(title: str, problems: Iterable[Mapping[str, object]]) -> None:
    """Write to standard error what is wrong: the first of each kind of reason, the rest as a number."""
    rows = list(problems)
    if not rows:
        return
    note(title)
    for row in rows[:SHOWN]:
        where = f"{row['file']}:{row['line']}" if row["line"] else str(row["file"])
        note(f"  {where}: {row['error']}")
    if len(rows) > SHOWN:
        note(f"  and {len(rows) - SHOWN} more (--json lists all)")


def unscored_line(number: int, *, judged: bool = False) -> str:
    """Return what becomes of rollouts without a score."""
    have = f"{counted(number, 'rollout')} {'has' if number == 1 else 'have'} no score"
    if judged:
        return f"{have}: the model says whether they passed"
    return f"{have}: what tools refuse is learned, how tasks end is not (--scores FILE gives scores)"
