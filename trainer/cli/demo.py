"""See an agent learn: measured, trained, gated, landed; no key.

Makes the store DIR from the sample files: an order desk with tools and a company policy that its agent is
not told. The agent is measured on the test cases, trained on the training cases, and measured again; what it
learned is landed on main, one commit per page, if the gate accepts it. Takes a minute and needs no key: every
number is computed. With --learner llm a model reads what the agent did, in two attempts at each training case
instead of eight; the endpoint is that of OPENAI_BASE_URL and OPENAI_API_KEY. A small model on this machine
answers too: `--llm context_tokens=4000 --llm timeout=300` where it reads little at once, and slowly.

With --break, see what becomes of an update that makes the agent worse: on a store that `xp demo` has made,
or on a new one, a round of updates is proposed, one of which does harm. The gate refuses them; they are
landed by force, which is recorded; `xp bisect` finds the one, `xp revert` takes it out, the score is back.

JSON: {the keys of `xp train --json`, "store": directory, "gate": what the gate decided or null, "landed":
plan ids}
With --break {"store", "branch", "plans": plan ids, "harmful": plan id, "refused": state of the landing,
"forced": the same, "bisect": as `xp bisect --json`, "undo": commit, "accuracy": {"before", "broken",
"after"}, "exit_code"}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trainer.cli.land import EXIT
from trainer.cli.land import describe as describe_landing
from trainer.cli.learner import learner_options, take_choice
from trainer.cli.loop import described, end_lines
from trainer.cli.running import AT_LEAST_ONE, Stages
from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import emit, paint, shortened
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from trainer.demo import Demo
    from trainer.report import LoopReport, Stage


@click.command(help=__doc__)
@click.argument("directory", default="xp-demo", metavar="[DIR]")
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="Another company: other rules and cases."
)
@click.option(
    "--train-limit",
    type=AT_LEAST_ONE,
    metavar="N",
    help="Train on the first N cases only: fewer questions to a model.",
)
@learner_options
@click.option("--break", "breaks", is_flag=True, help="Break it, and have it found and undone.")
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    directory: str,
    *,
    seed: int | None,
    train_limit: int | None,
    breaks: bool,
    as_json: bool,
    **learner: object,
) -> None:
    """Run the demo; see the module's docstring."""
    import asyncio

    choice = take_choice(app, learner)
    where = (app.cwd / directory).resolve()
    there = App(cwd=where, store=None)
    if breaks and choice:
        raise UsageError("--break asks no model", hint="leave --learner out")
    if breaks and train_limit:
        raise UsageError("--break trains on all cases", hint="leave --train-limit out")
    if breaks:
        ctx.exit(_break(there, seed, as_json=as_json))
    _check_free(where, there)  # before anything heavy is loaded

    from trainer.demo import ALL, FEW, make, run_demo, source_of

    if choice:
        choice.settings(source_of(seed).config)  # no store is made where no model is named
    store = make(where, seed)
    if not as_json:
        click.echo(paint(f"Made the store {store.config.id} in {where}, branch {store.config.main}"))
    go_on = f"{there.typed()} train goes on from there, and says what to land."
    with Stages(f"What was recorded and committed is kept; {go_on}") as stages:

        def say(stage: Stage) -> None:
            if not as_json:
                stages.say(described(stage, brief=True))

        options = FEW if choice else ALL
        if train_limit:
            options = options.model_copy(update={"train_limit": train_limit})
        demo = asyncio.run(run_demo(where, options, choice=choice, say=say, progress=stages.progress))
    report = demo.report
    code = report.exit_code or (EXIT["suspect"] if demo.is_suspect else 0)
    if as_json:
        landed = list(demo.landed.candidate.plan_ids) if demo.has_landed and demo.landed else []
        decided = demo.gated.record.model_dump(mode="json") if demo.gated else None
        answer = {**report.model_dump(mode="json"), "store": str(where), "gate": decided, "landed": landed}
        emit({**answer, "exit_code": code})
    else:
        _tell(demo, there, store.config.main)
    ctx.exit(code)


def _break(there: App, seed: int | None, *, as_json: bool) -> int:
    """Break the demo that is there, or a new one. Return the exit code."""
    import asyncio

    from trainer.cli.breaking import Breaking

    if not _is_demo(there):
        _check_free(there.cwd, there)

        from trainer.demo import QUICK, make, run_demo

        store = make(there.cwd, seed)
        if not as_json:
            click.echo(paint(f"Made the store {store.config.id} in {there.cwd}, branch {store.config.main}"))
        with Stages("The store is there; the same command goes on with it.") as stages:
            asyncio.run(run_demo(there.cwd, QUICK, progress=stages.progress))
    elif seed is not None:
        raise UsageError(f"{there.cwd} has a company already", hint="--seed is for a new store")
    return Breaking(there, is_quiet=as_json).run()


def _is_demo(there: App) -> bool:
    """Return whether a store of the order desk begins in the directory."""
    if not (there.cwd / "xp.toml").is_file():
        return False
    return there.location().config.environment.name == "order-desk"


def _check_free(where: Path, there: App) -> None:
    """Raise UsageError where something is there already."""
    if not where.exists() or (where.is_dir() and not any(where.iterdir())):
        return
    goes_on = f"{there.typed()} train goes on with a demo that was stopped; or " if where.is_dir() else ""
    raise UsageError(f"{where} is there already", hint=f"{goes_on}name another directory: xp demo DIR")


def _tell(demo: Demo, there: App, main: str) -> None:
    """Write the difference, what the history looks like now, one lesson whole, and what to type next."""
    report = demo.report
    for line in end_lines(report):
        click.echo(line)
    if demo.landed and demo.is_suspect:
        for line in describe_landing(demo.landed, there, dry_run=False):
            click.echo(line)
    if demo.landed is None or demo.gated is None:
        return
    click.echo(paint(f"Gate: {demo.gated.record.decision.upper()}: {demo.gated.record.reason}"))
    if not demo.has_landed:
        click.echo(paint(f"{report.branch} has not landed: xp gate {report.branch} says more"))
        return
    click.echo(paint(f"Landed {shortened(demo.landed.candidate.new)} on {main}"))
    commit = _one(report)
    for words in (["log", "--oneline"], ["show", shortened(commit)]):
        _type(there, words)
    click.echo("\nNext:")
    for line in _next(there, commit):
        click.echo(paint(f"  {line}"))


def _type(there: App, words: list[str]) -> None:
    """Write a command line and what it answers."""
    from xpstore.cli.main import run

    click.echo(paint(f"\n$ {there.typed()} {' '.join(words)}"))
    run(["--no-pager", "-C", str(there.cwd), *words])


def _one(report: LoopReport) -> str:
    """Return the commit with the fewest lessons, the first of several."""
    plans = [plan for epoch in report.epochs if epoch.learned for plan in epoch.learned.plans]
    return min(plans, key=lambda plan: plan.lessons).commit


def _next(there: App, commit: str) -> Iterator[str]:
    xp = there.typed()
    rows = (
        (f"{xp} deprecate app-orders", "one of the first pages is wrong: nobody learned it"),
        (f"{xp} revert {shortened(commit)}", "this takes a lesson back, if the gate lets it"),
        (f"{xp} eval", "what does that do to the score?"),
        (f"{there.typed('git')} log -p --notes=xp-eval", "lessons and scores"),
    )
    width = max(len(command) for command, _ in rows)
    for command, why in rows:
        yield f"{command:{width}}   # {why}"
