"""`xp train` without FILE: the options of the loop, and what it says while it runs."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, TypeVar

import click

from trainer.cli.extra import extra
from trainer.cli.learner import describe_estimate, describe_use
from trainer.cli.running import (
    AT_LEAST_ONE,
    TRIALS,
    Stages,
    check_report,
    describe_stage,
    note_uncommitted,
    running_options,
    write_report,
)
from xpstore.cli.output import emit, paint
from xpstore.errors import UsageError
from xpstore.layout import CASES, EXPERIENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from trainer.cli.land import Landing
    from trainer.loop import Elsewhere, LoopOptions
    from trainer.model_estimate import ModelEstimate
    from trainer.report import LoopReport, Stage
    from trainer.store_door import StoreDoor
    from trainer.strategies import ModelChoice
    from xpstore.cli.app import App

    Decorated = TypeVar("Decorated", bound=Callable[..., None])


OWN = frozenset({"report", "no_eval", "executor", "cluster_remote"})
"""Options that are not for the loop itself."""
KEPT = "What was recorded and committed is kept; the same command goes on from there."


def loop_options(command: Decorated) -> Decorated:
    """Add the options that are for training without FILE."""
    command = running_options(command)
    for option in (
        click.option("--report", metavar="FILE", help="Write the JSON report to FILE too."),
        click.option(
            "--cluster-remote",
            default="",
            metavar="REMOTE",
            help="With ray: the git remote by which its machines reach the store.",
        ),
        click.option(
            "--executor",
            type=click.Choice(("local", "ray")),
            default="local",
            show_default=True,
            help="Where agents work; ray: on the cluster of RAY_ADDRESS, or one made here.",
        ),
        click.option("--no-eval", is_flag=True, help="Do not evaluate before and after."),
        click.option(
            "--eval-trials",
            type=TRIALS,
            metavar="N",
            help="Attempts at each test case.  [default: as xp.toml says]",
        ),
        click.option(
            "--train-limit", type=AT_LEAST_ONE, metavar="N", help="Train on the first N cases only."
        ),
        click.option(
            "--trials",
            type=TRIALS,
            default=8,
            show_default=True,
            metavar="N",
            help="Attempts at each training case, in an epoch.",
        ),
        click.option(
            "--epochs",
            type=AT_LEAST_ONE,
            default=1,
            show_default=True,
            metavar="N",
            help="Passes over the training cases.",
        ),
    ):
        command = option(command)
    return command


def run_loop(  # noqa: PLR0913  # what the command line says
    app: App,
    given: Mapping[str, object],
    choice: ModelChoice | None,
    landing: Landing | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run the loop with the options that were given; return the exit code. Raises XpError."""
    location = app.location()  # a missing store is reported before anything heavy is loaded

    from trainer.loop import LoopOptions

    values = {name: value for name, value in given.items() if name not in OWN}
    options = LoopOptions.model_validate({**values, "evaluate": not given["no_eval"]})
    file = str(given["report"] or "")
    if file:
        check_report(app, file)
    for folder in (EXPERIENCES, CASES):
        note_uncommitted(location, folder, f"what is committed on {location.config.main} is used")
    if dry_run:
        return _preview(app, options, choice, as_json=as_json)
    elsewhere = _elsewhere(str(given["executor"]), str(given["cluster_remote"]))
    return _run(app, options, choice, file, landing, elsewhere, as_json=as_json)


def _elsewhere(
    executor: str, remote: str
) -> Callable[[StoreDoor], AbstractAsyncContextManager[Elsewhere]] | None:
    """Return what opens the cluster, if one is asked for. Raises UsageError where Ray is not installed."""
    if executor == "local":
        if remote:
            raise UsageError("--cluster-remote is for --executor ray", hint="leave it out")
        return None

    import os
    from functools import partial

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    with extra("ray", frozenset({"ray"}), "--executor ray"):
        from trainer.cluster.opening import placement

    return partial(placement, remote_name=remote, address=os.environ.get("RAY_ADDRESS", ""))


def _run(  # noqa: PLR0913, PLR0917  # what the command line says
    app: App,
    options: LoopOptions,
    choice: ModelChoice | None,
    file: str,
    landing: Landing | None,
    elsewhere: Callable[[StoreDoor], AbstractAsyncContextManager[Elsewhere]] | None,
    *,
    as_json: bool,
) -> int:
    import asyncio

    from trainer.loop import train_loop

    with Stages(KEPT) as stages:

        def say(stage: Stage) -> None:
            if not as_json:
                stages.say(described(stage))

        training = train_loop(
            app.cwd,
            options,
            store=app.store,
            choice=choice,
            elsewhere=elsewhere,
            say=say,
            progress=stages.progress,
        )
        report = asyncio.run(training)
    if not as_json:
        for line in end_lines(report):
            click.echo(line)
    if landing and report.changed:
        landing.land(report.branch)
    code = report.exit_code or (landing.exit_code if landing else 0)
    more = {"landing": landing.answer} if landing else {}
    answer = {**report.model_dump(mode="json"), **more, "exit_code": code}
    if file:
        write_report(app, file, answer)
    if as_json:
        emit(answer)
        return code
    if landing:
        lines = landing.lines()
    else:
        main = app.location().config.main
        lines = next_commands(report.branch, main, app) if report.changed else iter(())
    for line in lines:
        click.echo(line)
    return code


def described(stage: Stage, *, brief: bool = False) -> Iterator[str]:
    """Yield a stage's lines, and what was learned in it; `brief` leaves out what was not learned."""
    from trainer.cli.learned import describe_commits, describe_learned
    from trainer.report import EpochStage

    yield from describe_stage(stage.line, stage)
    if isinstance(stage, EpochStage) and stage.learned:
        yield from describe_commits(stage.learned) if brief else describe_learned(stage.learned)


def end_lines(report: LoopReport) -> Iterator[str]:
    """Yield why it ended early, what a model was asked, and the difference."""
    from trainer.report import delta_lines

    if report.stopped:
        yield f"Stopped: {report.stopped}."
    yield from describe_use(report.model)
    if report.baseline and report.final and (lines := delta_lines(report.baseline, report.final)):
        yield ""
        yield from lines


def next_commands(branch: str, main: str, app: App) -> Iterator[str]:
    """Yield what to type after training."""
    yield ""
    yield "Next:"
    yield paint(f"  {app.typed()} log {quote(branch)}")
    if branch != main:
        yield paint(f"  {app.typed('git')} diff {quote(f'{main}...{branch}')}")
        yield paint(f"  {app.typed()} land {quote(branch)}")


def _preview(app: App, options: LoopOptions, choice: ModelChoice | None, *, as_json: bool) -> int:
    import asyncio

    from trainer.loop import prepare
    from trainer.model_estimate import bound
    from trainer.store_door import StoreDoor

    async def look() -> tuple[dict[str, object], ModelEstimate | None]:
        async with StoreDoor(app.cwd, app.store) as door:
            run = await prepare(door, options, choice)
        tested = run.measurement
        rollouts = len(run.cases) * options.trials * options.epochs
        return {
            "run_id": run.target.run_id,
            "branch": run.target.branch,
            "environment": run.world.id,
            "epochs": options.epochs,
            "train_cases": len(run.cases),
            "train_rollouts": rollouts,
            "test_cases": len(tested.cases) if tested else 0,
            "test_rollouts": 2 * len(tested.cases) * tested.trials if tested else 0,
        }, bound(run.llm, rollouts, len(run.cases) * options.epochs) if run.llm else None

    plan, most = asyncio.run(look())
    if as_json:
        emit({**plan, **({"estimate": most.model_dump(mode="json")} if most else {})})
        return 0
    click.echo(paint(f"would train on {plan['environment']} and put commits on {plan['branch']}"))
    click.echo(f"  at most {plan['train_rollouts']} rollouts of {plan['train_cases']} training cases")
    click.echo(f"  at most {plan['test_rollouts']} rollouts of {plan['test_cases']} test cases")
    for line in describe_estimate(most):
        click.echo(f"  {line}")
    click.echo("What is on record is not run again.")
    return 0
