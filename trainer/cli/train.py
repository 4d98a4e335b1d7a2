"""Learn from recorded rollouts: one commit per independent lesson.

FILE holds rollouts: results of tau-bench, rollouts of this project, or JSON lines with "messages" and
"score". Everything is redacted before it is kept. The commits go to a branch of their own, and agents read
none of them before `xp land BRANCH` puts them on main. Files may be of any size: all rollouts are kept, and
of more than 1,000, or ten megabytes, a fair share is studied.

JSON: {"run_id", "branch", "dry_run", "rollouts", "passed", "left": how many were not studied, "already":
[id], "problems": [{"file", "line", "error"}], "failures": [{"rollout", "case", "stage", "error"}], "nothing":
{rollout: why}, "refused": {experience: why}, "plans": [{"plan_id", "commit", "subject", "items", "lessons",
"unserved": {experience: its status, which no agent is given}}], "report": the learner's}

Exit code 1 when every new rollout failed.
"""

from __future__ import annotations

import re
from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, grouped, paint, progress, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from trainer.train_report import TrainReport

_COUNT = re.compile(r" \(\d+\)$")  # of candidates, behind a reason
PROBLEMS_SHOWN = 5
REASONS_SHOWN = 10


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--branch", metavar="BRANCH", help="Where the commits go.  [default: train/RUN]")
@click.option("--again", is_flag=True, help="Learn once more from rollouts that were learned before.")
@dry_run_option
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    files: tuple[str, ...],
    branch: str | None,
    *,
    again: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Train; see the module's docstring."""
    paths = [app.file(name) for name in files]
    main = app.location().config.main  # a missing store is reported before anything heavy is loaded

    import asyncio

    from trainer.train import train_files

    with progress() as report_progress:
        report = asyncio.run(
            train_files(
                paths,
                location=app.cwd,
                store=app.store,
                branch=branch,
                dry_run=dry_run,
                again=again,
                progress=report_progress,
            )
        )
    if as_json:
        emit({**report.model_dump(mode="json"), "exit_code": report.exit_code})
    else:
        for line in describe(report, main, app):
            click.echo(line)
    ctx.exit(report.exit_code)


def describe(report: TrainReport, main: str, app: App) -> Iterator[str]:
    """Yield the report for people: counts, commits, what taught nothing, what to type next."""
    forgotten = {f.rollout for f in report.failures if f.stage == "receive"}  # no other reason there
    failures = [f for f in report.failures if f.rollout not in forgotten]
    failed = len({f.rollout for f in failures})
    counts = [counted(report.rollouts, "rollout"), f"{report.passed} passed"]
    counts += [f"{len(report.already)} already learned"] if report.already else []
    counts += [f"{len(forgotten)} forgotten here"] if forgotten else []
    counts += [f"{failed} failed to be read by the learner"] if failed else []
    yield ", ".join(counts)
    if report.left:
        yield f"{counted(report.left, 'rollout')} on record and not studied: more than one run studies"
    yield from _commits(report)
    yield from _nothing(report)
    yield from _reasons("Not merged:", [f"{name}: {why}" for name, why in report.refused.items()])
    yield from _reasons("Failed:", [f"{f.stage}: {f.error}" for f in failures])
    yield from _left_out(report)
    yield from _problems(report)
    if report.plans and not report.dry_run:
        yield ""
        yield "Next:"
        yield paint(f"  {app.typed()} log {quote(report.branch)}")
        if report.branch != main:
            yield paint(f"  {app.typed('git')} diff {quote(f'{main}...{report.branch}')}")
            yield paint(f"  {app.typed()} land {quote(report.branch)}")


def _nothing(report: TrainReport) -> Iterator[str]:
    parts = [_COUNT.sub("", part) for why in report.nothing.values() for part in why.split("; ")]
    several = " (a rollout can have several reasons)" if len(parts) > len(report.nothing) else ""
    yield from _reasons(f"{counted(len(report.nothing), 'rollout')} taught nothing{several}:", parts)


def _commits(report: TrainReport) -> Iterator[str]:
    if not report.plans:
        fresh = report.rollouts - len(report.already)
        yield (
            "Everything here is already learned." if report.already and not fresh else "Nothing was learned."
        )
        return
    commits = counted(len(report.plans), "commit")
    lessons = counted(sum(p.lessons for p in report.plans), "lesson")
    where = f"on {report.branch}"
    yield paint(
        f"{lessons}, {commits} {where}" if not report.dry_run else f"{lessons}; would be {commits} {where}"
    )
    for plan in report.plans:
        sha = paint(shortened(plan.commit or plan.plan_id), "yellow")
        yield f"  {sha} {paint(plan.subject)}"
        for name, status in plan.unserved.items():
            yield paint(f"    {name} is {status}: no agent reads it")


def _reasons(title: str, reasons: list[str]) -> Iterator[str]:
    if reasons:
        yield title
        for reason, count in grouped(reasons, REASONS_SHOWN):
            yield f"  {count:4}  {paint(reason)}"


def _left_out(report: TrainReport) -> Iterator[str]:
    """Yield what the learner tried and dropped, in the form that learners report: counts by reason."""
    counts: Counter[str] = Counter()
    _count(report.report.get("dropped"), "", counts)
    if counts:
        tried = report.report.get("candidates")
        yield f"Left out of {tried} candidates:" if tried else "Left out:"
        for why, number in grouped(counts, REASONS_SHOWN):
            yield f"  {number:4}  {paint(why)}"


def _count(dropped: JsonValue, why: str, counts: Counter[str]) -> None:
    if isinstance(dropped, dict):
        for key, inner in dropped.items():
            _count(inner, key, counts)
    elif isinstance(dropped, int):
        counts[why] += dropped


def _problems(report: TrainReport) -> Iterator[str]:
    if report.problems:
        yield f"Skipped {counted(len(report.problems), 'broken record')}:"
        for problem in report.problems[:PROBLEMS_SHOWN]:
            yield paint(f"  {problem['file']}:{problem['line']}: {problem['error']}")
        if len(report.problems) > PROBLEMS_SHOWN:
            yield f"  and {len(report.problems) - PROBLEMS_SHOWN} more (--json lists all)"
