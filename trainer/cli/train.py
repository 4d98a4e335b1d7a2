"""Learn from cases or recorded rollouts: one commit per lesson.

Without FILE: the environment that xp.toml names runs the cases of main. The test cases are evaluated (what is
on record is not paid for again), the training cases are tried and learned from, and the test cases are
evaluated again. An epoch that changes nothing is the last. Interrupted, the same command goes on from what is
on record.

FILE holds recordings of any kind that xp import reads: trajectories, sessions, logs, results of benchmarks,
or JSON lines with "messages" and "score"; scores from beside come with --scores. Everything is redacted
before it is kept. Files may be of any size: all rollouts are kept, and of more than 1,000, or ten megabytes,
a fair share is studied.

With --learner llm a model reads the rollouts, proposes edits and merges them; every answer is checked, and
what is wrong is asked for once more or left out. Any endpoint that speaks OpenAI's protocol will do:
OPENAI_BASE_URL and OPENAI_API_KEY, or base_url and key_variable below [llm] in xp.toml, where your own git
configuration trusts that host (xp.trustedModelHost); xp.toml also has prices, limits for a run, timeouts and
how much is asked at once. --dry-run asks nothing and says what would
be asked. What was answered is on record: a run that stopped, or whose endpoint went away, is repeated for the
price of the rest (--again asks all of it anew). --record keeps what was asked and answered, masked, in files
of JSON; --replay makes the same run of them without network and key.

The commits go to a branch of their own, train/RUN; nothing is accepted until it is landed. With --land that
happens at once, if the gate accepts what was learned (see xp land). To commit on main itself (--branch main)
where there is a gate to ask needs --no-gate.

JSON with --land also has "landing": as xp land says it, or null where nothing was learned.

JSON without FILE: {"run_id", "branch", "environment", "agent", "baseline", "epochs": [], "final", "delta":
final minus baseline accuracy or null, "stopped": why it ended early or ""}. A stage has {"stage", "epoch",
"cases", "n", "passed", "accuracy", "interval": [low, high], "average_reward", "failures": [{"case", "name",
"trial", "seed", "stage", "error"}], "by_case": [{"name", "passed", "n", "failures", "average_reward"}]}; an
evaluation also {"commit", "suite", "trials", "key", "reused"}; an epoch also {"commits", "errors", "changed",
"taken_up", "left", "learned": as with FILE}.

JSON with FILE: {"run_id", "branch", "dry_run", "rollouts", "passed", "left": how many were not studied,
"already": [id], "unscored": how many have no score, "problems": [{"file", "line", "error"}], "remarks": what
was read all the same, in the same form, "failures": [{"rollout", "case", "stage", "error"}],
"nothing": {rollout: why}, "refused": {experience: why}, "fallbacks": {experience: why it was merged by rule,
though a model was asked}, "kept": {branch: experience}, "duplicates": [as in xp land], "plans": [{"plan_id",
"commit", "subject", "items", "lessons", "unserved": {experience: its status, which no agent is given}}],
"report": the learner's, "model": what a model was asked or null, "estimate": in a dry run, what it would be
asked, {"name", "rollouts", "calls": at most, "prompt_tokens", "completion_tokens", "cost"}, or null}.
"model" is {"name", "prompts": {name: version}, "stages": {"extract", "judge", "edit", "merge", "resolve":
{"calls", "prompt_tokens", "completion_tokens", "cost", "repaired": answers asked for again, "reused": answers
on record, "mended": {what was put right: count}, "failures": {why there was no answer: count}}}, "total":
the same in sum},
and stands in the record of every plan, too; without FILE it is beside "stopped".
On main itself, where xp.toml names an environment, also "ungated": why nothing was measured.

Exit code 1 when an evaluation is not whole (a trial could not be scored), or no rollout could be made or
learned from; else that of the landing; 2 without FILE where xp.toml names no environment or there are no
cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from trainer.cli.gate_options import accept_option, accept_suspect_option, no_gate_option
from trainer.cli.land import Landing
from trainer.cli.learned import describe_learned
from trainer.cli.learner import describe_estimate, describe_use, learner_options, take_choice
from trainer.cli.loop import loop_options, next_commands, run_loop
from trainer.cli.recordings import reading_options, take_reading, unscored_line
from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.gating import NO_GATE
from xpstore.cli.output import counted, emit, paint, progress
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

    from trainer.importers import Reading
    from trainer.strategies import ModelChoice
    from trainer.train_report import TrainReport
    from xpstore.location import Location

PROBLEMS_SHOWN = 5
RECORDINGS = ("form", "scores")
FOR_FILES = ("branch", "again", *RECORDINGS)


@click.command(help=__doc__)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@loop_options
@click.option("--branch", metavar="BRANCH", help="With FILE: where the commits go.  [default: train/RUN]")
@click.option("--again", is_flag=True, help="With FILE: learn, and ask a model, once more.")
@reading_options
@learner_options
@click.option("--land", "lands", is_flag=True, help="Land what was learned, if the gate accepts it.")
@accept_option
@accept_suspect_option
@no_gate_option
@dry_run_option
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    *,
    branch: str | None,
    again: bool,
    lands: bool,
    accept_inconclusive: bool,
    accept_suspect: bool,
    no_gate: bool,
    dry_run: bool,
    as_json: bool,
    **loop: object,
) -> None:
    """Train; see the module's docstring."""
    choice = take_choice(app, loop)
    recordings = {name: loop.pop(name) for name in RECORDINGS}
    is_main = bool(files) and _is_main(app, branch)
    if dry_run or not (lands or is_main):
        why = "--dry-run lands nothing" if dry_run else "works with --land only"
        _refuse(ctx, ("lands", "accept_inconclusive", "accept_suspect", "no_gate"), why)
    elif is_main:
        unused = ("lands", "accept_inconclusive", "accept_suspect")
        _refuse(ctx, unused, f"lands a branch, and --branch {branch} lands nothing")
    given = {key: loop[key] for key in ("parallel", "time_limit")}
    given |= {"accept_inconclusive": accept_inconclusive, "no_gate": no_gate}
    given |= {"accept_suspect": accept_suspect}
    landing = Landing(app, given) if lands else None
    if files:
        _refuse(ctx, loop, "works without FILE only: recorded rollouts are not run")
        ungated = _ungated(app, no_gate=no_gate) if is_main and not dry_run else ""
        options = {"again": again, "dry_run": dry_run, "as_json": as_json}
        reading = take_reading(app, recordings)
        told = _train_files(app, files, branch, landing, ungated, reading=reading, choice=choice, **options)
        ctx.exit(told)
    _refuse(ctx, FOR_FILES, "works with FILE only: a run names its branch, and --seed makes another run")
    ctx.exit(run_loop(app, loop, choice, landing, dry_run=dry_run, as_json=as_json))


def _refuse(ctx: click.Context, names: Iterable[str], why: str) -> None:
    """Raise UsageError where one of these options was typed."""
    for param in ctx.command.params:
        given = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if given and param.name in names:
            raise UsageError(f"{param.opts[0]} {why}", hint=f"see '{ctx.command_path} --help'")


def _is_main(app: App, branch: str | None) -> bool:
    """Return whether a branch that was typed is the one that agents read from."""
    location = app.location()
    return branch is not None and location.branch_ref(branch) == location.main_ref


def _ungated(app: App, *, no_gate: bool) -> str:
    """Return why nothing measures what goes to main itself; "" where the store has nothing to measure with.

    Raises UsageError where there is a gate to ask.
    """
    location = app.location()
    tip = location.tip_of(location.main_ref)
    if tip is None or not location.config_at(tip).environment.name:
        return ""

    from trainer.gate.measure import ungateable

    why = NO_GATE if no_gate else ungateable(location, tip)
    if not why:
        main = location.config.main
        raise UsageError(
            f"{main} has a gate, and --branch {main} would go past it",
            hint="--land asks it, --no-gate goes without it, on record; or train on another branch",
        )
    return why


def _train_files(  # noqa: PLR0913  # the options that FILE takes
    app: App,
    files: tuple[str, ...],
    branch: str | None,
    landing: Landing | None,
    ungated: str,
    *,
    reading: Reading,
    choice: ModelChoice | None,
    again: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
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
                choice=choice,
                reading=reading,
                progress=report_progress,
            )
        )
    if landing and report.plans:
        landing.land(report.branch)
    if ungated and report.plans:
        _put_on_record(app.location(), report, ungated)
    code = report.exit_code or (landing.exit_code if landing else 0)
    if as_json:
        more = {"landing": landing.answer} if landing else {"ungated": ungated} if ungated else {}
        emit({**report.model_dump(mode="json"), **more, "exit_code": code})
    else:
        for line in describe(report, main, app, lands=landing is not None):
            click.echo(line)
        for line in landing.lines() if landing else ():
            click.echo(line)
        if ungated and report.plans:
            click.echo(paint(f"  no gate: {ungated}"))
    return code


def _put_on_record(location: Location, report: TrainReport, ungated: str) -> None:
    """Note that what was learned has landed without a gate."""
    from xpstore import gate_record

    first, last = (location.repo.commit(report.plans[at].commit) for at in (0, -1))
    against = next(iter(first.parents), last.id)
    gate_record.write(location, gate_record.ungated(location, last.id, against, ungated))


def describe(report: TrainReport, main: str, app: App, *, lands: bool = False) -> Iterator[str]:
    """Yield the report for people: counts, commits, what taught nothing, what to type next."""
    forgotten = {f.rollout for f in report.failures if f.stage == "receive"}  # no other reason there
    failed = len({f.rollout for f in report.failures if f.stage != "recall"} - forgotten)
    counts = [counted(report.rollouts, "rollout"), f"{report.passed} passed"]
    counts += [f"{len(report.already)} already learned"] if report.already else []
    counts += [f"{len(forgotten)} forgotten here"] if forgotten else []
    counts += [f"{failed} failed to be read by the learner"] if failed else []
    yield ", ".join(counts)
    if report.unscored:
        judged = report.model is not None or report.estimate is not None
        yield unscored_line(report.unscored, judged=judged)
    if report.left:
        yield f"{counted(report.left, 'rollout')} on record and not studied: more than one run studies"
    yield from describe_estimate(report.estimate)
    if report.estimate is None:
        yield from describe_learned(report)
    yield from describe_use(report.model)
    yield from _problems(report.problems, f"Skipped {counted(len(report.problems), 'broken record')}:")
    yield from _problems(report.remarks, "Of the recordings:")
    if report.plans and not report.dry_run and not lands:
        yield from next_commands(report.branch, main, app)


def _problems(problems: tuple[dict[str, JsonValue], ...], title: str) -> Iterator[str]:
    if problems:
        yield title
        for problem in problems[:PROBLEMS_SHOWN]:
            where = f"{problem['file']}:{problem['line']}" if problem["line"] else str(problem["file"])
            yield paint(f"  {where}: {problem['error']}")
        if len(problems) > PROBLEMS_SHOWN:
            yield f"  and {len(problems) - PROBLEMS_SHOWN} more (--json lists all)"
