"""List, retry or drop what was received and not learned from yet.

Whatever is submitted to a streaming trainer is on record before anything is made of it. It is open until a
plan that cites it can be reached from a branch, a learner has said that it teaches nothing, or you drop it.
What a trainer that was killed, or a model that did not answer, has left open is taken up by the next start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from trainer.cli.learned import describe_learned
from trainer.cli.learner import learner_options, take_choice
from trainer.cli.loop import next_commands
from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, one_line, paint, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from trainer.strategies import ModelChoice
    from trainer.train_report import TrainReport
    from xpstore.inbox import Entry
    from xpstore.location import Location

HOLDERS = {
    "alive": "a trainer is at it",
    "dead": "its trainer is gone",
    "elsewhere": "received in another clone",
    "": "",
}
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be learned from."""

    by_branch: dict[str, list[str]]
    """Branch → rollouts."""
    busy: list[str]
    """Left to the trainers that are at them."""
    closed: list[str]
    """Not open."""


@click.group("inbox", help=__doc__)
def command() -> None:
    """Group; see the module's docstring."""


@command.command("list")
@json_option
@pass_app
def list_command(app: App, *, as_json: bool) -> None:
    """List the rollouts that are open.

    JSON: {"open": [{"rollout", "case": {"id", "name"}, "progress": received, analysed or planned (and its
    branch is gone), "branches": [where it is to go], "holder": alive, dead, elsewhere or ""}]}
    """
    from xpstore.inbox import case_name, entries

    location = app.location()
    found = entries(location)
    if as_json:
        emit({"open": [_row(entry, case_name(location, entry.case)) for entry in found]})
        return
    click.echo(f"{counted(len(found), 'rollout')} open")
    for entry in found[:SHOWN]:
        name = one_line(case_name(location, entry.case))
        remarks = [f"for {', '.join(entry.branches)}"] if entry.branches else []
        remarks += [HOLDERS[entry.holder]] if entry.holder else []
        said = f"  ({'; '.join(remarks)})" if remarks else ""
        click.echo(
            f"  {paint(shortened(entry.rollout), 'yellow')} {entry.progress:8}  {paint(name)}{paint(said)}"
        )
    if len(found) > SHOWN:
        click.echo(f"  and {len(found) - SHOWN} more (--json lists all)")
    if found:
        click.echo(paint(f"  ({app.typed()} inbox retry learns from them, drop takes one out)"))


@command.command("retry", short_help="Learn from rollouts that are open.")
@click.argument("rollouts", nargs=-1, metavar="[ROLLOUT]...")
@click.option("--branch", metavar="BRANCH", help="Where lessons go.  [default: as received, else train/live]")
@learner_options
@dry_run_option
@json_option
@click.pass_context
@pass_app
def retry_command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    rollouts: tuple[str, ...],
    *,
    branch: str | None,
    dry_run: bool,
    as_json: bool,
    **learner: object,
) -> None:
    """Learn from rollouts that are open; without ROLLOUT from all that no trainer is at.

    JSON: {"dry_run", "busy": [rollouts that a trainer is at], "closed": [rollouts that are not open],
    "branches": [as xp train says it], "exit_code"}

    Exit code 1 where one could not be learned from.
    """
    choice = take_choice(app, learner)
    location = app.location()
    wanted = _wanted(location, rollouts, branch)
    reports = [] if dry_run else _retry(app, wanted.by_branch, choice)
    code = int(any(report.failures for report in reports))
    if as_json:
        planned = [{"branch": name, "rollouts": ids} for name, ids in wanted.by_branch.items()]
        done = [report.model_dump(mode="json") for report in reports]
        emit(
            {
                "dry_run": dry_run,
                "busy": wanted.busy,
                "closed": wanted.closed,
                "branches": planned if dry_run else done,
                "exit_code": code,
            }
        )
    else:
        for line in _described(app, location, wanted, reports):
            click.echo(line)
    ctx.exit(code)


@command.command("drop", short_help="Take rollouts out, for a reason.")
@click.argument("rollouts", nargs=-1, required=True, metavar="ROLLOUT...")
@click.option("--why", required=True, metavar="TEXT", help="The reason; it goes on record.")
@dry_run_option
@json_option
@pass_app
def drop_command(app: App, rollouts: tuple[str, ...], *, why: str, dry_run: bool, as_json: bool) -> None:
    """Take rollouts out of the inbox: nobody learns from them, and they are no evidence for others.

    The recordings stay on record; xp forget removes one. What was learned from already is left alone.

    JSON: {"dry_run", "dropped": [id], "closed": [id of what is not open], "why"}
    """
    from xpstore.inbox import drop, find

    location = app.location()
    ids = find(location, rollouts)
    dropped = drop(location, ids, why, dry_run=dry_run)
    closed = [i for i in ids if i not in dropped]
    if as_json:
        emit({"dry_run": dry_run, "dropped": dropped, "closed": closed, "why": why.strip()})
        return
    verb = "Would drop" if dry_run else "Dropped"
    click.echo(f"{verb} {counted(len(dropped), 'rollout')}")
    for line in _not_open(closed):
        click.echo(line)


def _not_open(closed: Sequence[str]) -> Iterator[str]:
    for rollout in closed:
        yield paint(f"{shortened(rollout)} is not open")


def _row(entry: Entry, name: str) -> dict[str, object]:
    return {
        "rollout": entry.rollout,
        "case": {"id": entry.case, "name": name},
        "progress": entry.progress,
        "branches": list(entry.branches),
        "holder": entry.holder,
    }


def _wanted(location: Location, rollouts: Sequence[str], branch: str | None) -> Wanted:
    """Sort what was named, or all that is open."""
    from trainer.streaming import LIVE
    from xpstore.inbox import entries, find

    open_ = {entry.rollout: entry for entry in entries(location)}
    ids = find(location, rollouts) if rollouts else list(open_)
    busy = [i for i in ids if i in open_ and open_[i].holder == "alive"]
    by_branch: dict[str, list[str]] = {}
    for i in ids:
        if i in open_ and i not in busy:
            own = next(iter(open_[i].branches), f"{location.candidate_prefix}{LIVE}")
            by_branch.setdefault(branch or own, []).append(i)
    return Wanted(by_branch, busy, [i for i in ids if i not in open_])


def _retry(app: App, by_branch: Mapping[str, Sequence[str]], choice: ModelChoice | None) -> list[TrainReport]:
    import asyncio

    async def work() -> list[TrainReport]:
        return [await _learned(app.cwd, app.store, branch, ids, choice) for branch, ids in by_branch.items()]

    return asyncio.run(work())


async def _learned(
    where: Path, store: str | None, branch: str, ids: Sequence[str], choice: ModelChoice | None
) -> TrainReport:
    from trainer.components.streaming_result import joined
    from trainer.context import ApplyContext
    from trainer.streaming import get_streaming_policy_trainer
    from trainer.train_report import train_report

    async with get_streaming_policy_trainer(
        where, store=store, branch=branch, choice=choice, recover=False
    ) as trainer:
        results = await trainer.retry(ids)
    result = joined(results, results[-1].updated_policy_set)
    passed = sum(analysis.evaluation.passed for analysis in result.analyses)
    return train_report(result, ApplyContext(branch=branch), rollouts=len(ids), passed=passed)


def _described(app: App, location: Location, wanted: Wanted, reports: Sequence[TrainReport]) -> Iterator[str]:
    for rollout in wanted.busy:
        yield paint(f"{shortened(rollout)} is left to the trainer that is at it")
    yield from _not_open(wanted.closed)
    if not wanted.by_branch:
        yield "There is nothing to learn from."
    if not reports:
        for branch, ids in wanted.by_branch.items():
            yield paint(f"Would learn from {counted(len(ids), 'rollout')} on {branch}")
    for report in reports:
        yield f"{counted(report.rollouts, 'rollout')}, {report.passed} passed"
        yield from describe_learned(report)
        if report.plans:
            yield from next_commands(report.branch, location.config.main, app)
