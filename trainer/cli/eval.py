"""Score the experiences at a commit on a suite of cases.

The environment that xp.toml names runs cases/SUITE.jsonl of main under the experiences at REF, or at HEAD.
What is on record for the same experiences, cases, seeds and agent is not run again; --fresh does. Nothing is
learned, and no experience is written: the record goes to the evidence branch and into git notes.

`xp eval show [REF]` lists what is on record for the experiences at REF and runs nothing.

JSON: {"ref", "environment", "agent", "unread": {page: why no agent reads it}, "stage": "eval", "epoch": -1,
"commit", "suite", "cases", "n", "passed", "accuracy" or null, "interval": [low, high], "average_reward" or
null, "trials", "key", "reused": scores that were on record, "failures": [{"case", "name", "trial", "seed",
"stage", "error"}], "by_case": [{"name", "passed", "n", "failures", "average_reward"}], "exit_code"}

JSON of show: {"ref", "commit", "records": [the same from "stage" to "by_case", "agent", and "fresh": the
number of the repetition]}

Exit code 1 when a trial could not be scored, or none was; such trials are in no accuracy, and the next time
only they are run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trainer.cli.running import (
    TRIALS,
    Stages,
    describe_cases,
    describe_stage,
    note_uncommitted,
    running_options,
)
from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import emit, note, paint, shortened
from xpstore.errors import UsageError
from xpstore.layout import CASES, EXPERIENCES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.evaluate import Measured, Measurement
    from trainer.report import EvaluationStage
    from xpstore.location import Location

SHOW = "show"


@click.command(help=__doc__)
@click.argument("words", nargs=-1, metavar="[show] [REF]")
@click.option("--suite", metavar="SUITE", help="Which cases: test, gate or another.  [default: test]")
@click.option("--trials", type=TRIALS, metavar="N", help="Attempts at each case.  [default: as xp.toml says]")
@click.option("--fresh", is_flag=True, help="Run everything, whatever is on record.")
@click.option("-v", "--verbose", is_flag=True, help="Also a line for each case.")
@running_options
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    words: tuple[str, ...],
    *,
    suite: str | None,
    trials: int | None,
    fresh: bool,
    verbose: bool,
    eval_limit: int | None,
    seed: int | None,
    parallel: int,
    time_limit: float,
    as_json: bool,
) -> None:
    """Evaluate; see the module's docstring."""
    is_show = words[:1] == (SHOW,)
    refs = words[is_show:]
    if len(refs) > 1:
        raise UsageError(f"'{refs[1]}' is one REF too many", hint=f"See '{ctx.command_path} --help'.")
    ref = refs[0] if refs else "HEAD"
    location = app.location()
    if is_show:
        _show(location, ref, suite, verbose=verbose, as_json=as_json)
        return

    from trainer.environment import world_of
    from trainer.evaluate import Measurement
    from trainer.suite import load_suites

    config = location.config
    world = world_of(config.environment)
    name = suite or "test"
    what = Measurement(
        world=world,
        suite=name,
        cases=load_suites(location, config.main, name)[name][:eval_limit],
        trials=trials or config.evaluation.trials,
        seed=config.evaluation.seed if seed is None else seed,
        parallel=parallel,
        time_limit=time_limit,
        fresh=fresh,
    )
    if ref == "HEAD":
        note_uncommitted(location, EXPERIENCES, "the last commit is evaluated")
    note_uncommitted(location, CASES, f"those of {config.main} are run")
    measured = _measure(app, ref, what)
    stage = _stage(measured)
    unread = _unread(location, stage.commit)
    for page, why in unread.items():
        note(f"no agent reads {page}: {why}")
    if as_json:
        who = {"ref": ref, "environment": world.id, "agent": world.environment.agent, "unread": unread}
        emit({**who, **stage.model_dump(mode="json"), "exit_code": measured.exit_code})
    else:
        for line in _described(stage, verbose=verbose):
            click.echo(line)
    ctx.exit(measured.exit_code)


def _measure(app: App, ref: str, what: Measurement) -> Measured:
    import asyncio

    from trainer.evaluate import measure
    from trainer.store_door import StoreDoor

    async def run(stages: Stages) -> Measured:
        async with StoreDoor(app.cwd, app.store) as door:
            return await measure(door, ref, what, stages.progress)

    with Stages("An evaluation is recorded when it is whole; nothing of this one is kept.") as stages:
        return asyncio.run(run(stages))


def _unread(location: Location, commit: str) -> dict[str, str]:
    """Return the pages of a commit that cannot be read, and why: the score is of the others."""
    from xpstore.serving import readable
    from xpstore.snapshot import snapshot

    return readable(snapshot(location, commit))[1]


def _stage(measured: Measured) -> EvaluationStage:
    from trainer.report import BASELINE_EPOCH, evaluation_stage

    return evaluation_stage("eval", BASELINE_EPOCH, measured)


def _described(stage: EvaluationStage, *, verbose: bool) -> Iterator[str]:
    line = f"{stage.suite} on {shortened(stage.commit)}: {stage.numbers}"
    yield from describe_stage(line, stage)
    if verbose:
        yield from describe_cases(stage.by_case)


def _show(location: Location, ref: str, suite: str | None, *, verbose: bool, as_json: bool) -> None:
    """Write what is on record for the experiences at a ref."""
    from trainer.evaluate import Measured
    from xpstore import evaluation

    commit = location.resolve(ref)
    records = [r for r in evaluation.of_commit(location, commit) if suite in {None, r.key.suite}]
    stages = [_stage(Measured(record, 0, commit)) for record in records]
    if as_json:
        rows = [
            {**stage.model_dump(mode="json"), "agent": record.key.agent, "fresh": record.fresh}
            for stage, record in zip(stages, records, strict=True)
        ]
        emit({"ref": ref, "commit": commit, "records": rows})
        return
    if not records:
        click.echo(paint(f"no evaluation of the experiences at {ref} is on record"))
    for stage, record in zip(stages, records, strict=True):
        for line in _described(stage, verbose=verbose):
            click.echo(line)
        trials = f"{stage.trials} trials of each case"
        click.echo(paint(f"  {record.key.agent} in {record.key.environment}, {trials}, key {stage.key}"))
