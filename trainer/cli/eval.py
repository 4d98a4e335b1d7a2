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
only they are run. With --fail-under: 0 when the accuracy is at least so much, 1 when it is less, and 125 when
that cannot be told: what `git bisect run xp eval --fail-under 0.6` wants to know. Wrong use then is 128,
which ends the bisection. (`xp bisect` gets by with far fewer rollouts.)
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from trainer.cli.running import (
    TRIALS,
    Stages,
    case_option,
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
    from types import TracebackType

    from trainer.evaluate import Measured, Measurement
    from trainer.report import EvaluationStage
    from xpstore.location import Location

SHOW = "show"
UNTESTABLE = 125
"""How a program tells `git bisect run` that a commit is neither good nor bad."""
ABORT = 128
"""The least code at which `git bisect run` stops: what is wrong with the command is wrong at every commit."""


class _Eval(click.Command):
    """A verb whose wrong use is no verdict on a commit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options. Raises UsageError with ABORT as its code where git is asking."""
        is_asked = any(word.startswith("--fail") for word in args)  # misspelt, too
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if not is_asked:
                raise
            wrong = UsageError(error.format_message().rstrip("."), hint=f"see '{ctx.command_path} --help'")
            wrong.exit_code = ABORT
            raise wrong from error


@click.command(cls=_Eval, help=__doc__)
@click.argument("words", nargs=-1, metavar="[show] [REF]")
@click.option("--suite", metavar="SUITE", help="Which cases: test, gate or another.  [default: test]")
@case_option
@click.option("--trials", type=TRIALS, metavar="N", help="Attempts at each case.  [default: as xp.toml says]")
@click.option("--fresh", is_flag=True, help="Run everything, whatever is on record.")
@click.option(
    "--fail-under",
    type=click.FloatRange(min=0, max=1),
    metavar="ACCURACY",
    help="Exit as git bisect run wants it: 0, 1 below ACCURACY, 125.",
)
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
    cases: tuple[str, ...],
    trials: int | None,
    fresh: bool,
    fail_under: float | None,
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
    _check_words(ctx, refs, fail_under, is_show=is_show)
    ref = refs[0] if refs else "HEAD"
    if is_show:
        _show(app.location(), ref, suite, verbose=verbose, as_json=as_json)
        return
    with nullcontext() if fail_under is None else _Untestable():
        location = app.location()

        from trainer.environment import world_of
        from trainer.evaluate import Measurement
        from trainer.suite import chosen, load_suites

        config = location.config
        name = suite or "test"
        what = Measurement(
            world=world_of(config.environment, config.llm),
            suite=name,
            cases=chosen(load_suites(location, config.main, name)[name], cases, name)[:eval_limit],
            trials=trials or config.evaluation.trials,
            seed=config.evaluation.seed if seed is None else seed,
            parallel=parallel,
            time_limit=time_limit,
            fresh=fresh,
        )
        _note_uncommitted(location, ref)
        measured = _measure(app, ref, what)
        code = _exit_code(measured, fail_under)
        _answer(location, ref, what, measured, code, verbose=verbose, as_json=as_json)
    ctx.exit(code)


def _check_words(
    ctx: click.Context, refs: tuple[str, ...], fail_under: float | None, *, is_show: bool
) -> None:
    why = f"'{refs[1]}' is one REF too many" if len(refs) > 1 else ""
    if is_show and fail_under is not None:
        why = why or f"'{SHOW}' runs nothing, so nothing can fail: leave out --fail-under"
    if why:
        error = UsageError(why, hint=f"see '{ctx.command_path} --help'")
        error.exit_code = error.exit_code if fail_under is None else ABORT
        raise error


class _Untestable:
    """A context whose errors and defects end with UNTESTABLE: git would take another code for `bad`."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):  # an interrupt ends the bisection, as it is
            vars(error)["exit_code"] = UNTESTABLE


def _note_uncommitted(location: Location, ref: str) -> None:
    if ref == "HEAD":
        note_uncommitted(location, EXPERIENCES, "the last commit is evaluated")
    note_uncommitted(location, CASES, f"those of {location.config.main} are run")


def _exit_code(measured: Measured, fail_under: float | None) -> int:
    if fail_under is None:
        return measured.exit_code
    if measured.exit_code:
        return UNTESTABLE
    return int(measured.record.accuracy < fail_under)


def _answer(  # noqa: PLR0913  # what there is to tell
    location: Location,
    ref: str,
    what: Measurement,
    measured: Measured,
    code: int,
    *,
    verbose: bool,
    as_json: bool,
) -> None:
    stage = _stage(measured)
    unread = _unread(location, stage.commit)
    for page, why in unread.items():
        note(f"no agent reads {page}: {why}")
    if as_json:
        agent = what.world.environment.agent
        who = {"ref": ref, "environment": what.world.id, "agent": agent, "unread": unread}
        emit({**who, **stage.model_dump(mode="json"), "exit_code": code})
        return
    for line in _described(stage, verbose=verbose):
        click.echo(line)


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
    known = evaluation.of_commit(location, commit)
    records = [r for r in known if suite == r.key.suite or (suite is None and r.is_score)]
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
