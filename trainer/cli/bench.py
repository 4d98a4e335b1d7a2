"""Measure what is learned on a public benchmark.

Evaluated on the test cases, trained on the training cases, evaluated again: xp bench tau2 does so with
tau2-bench, of which a service runs the rollouts: agent, simulated user and judge are models behind any
endpoint that speaks OpenAI's protocol (OPENAI_BASE_URL and OPENAI_API_KEY, or the options). The service is
the one at --url, or is started in the Python that --python names: the one that has tau2-bench.

DIR gets a store with the lessons as commits (store/), every rollout as a file (rollouts/), and report.json.
The same command goes on where one was stopped; nothing that is kept is run again.

Next to the accuracy stand what an agent scores that does nothing, pass^k (the chance that k attempts all
pass), the cases that came out better or worse, and what the models were asked for. Trials that could not be
scored are infrastructure: in no accuracy, and in pass^k as attempts that did not pass, which is then a lower
bound (>=).

--train-labels lets the learner know what a perfect agent does in training cases. No label of a test leaves
the service, and no agent is shown one.

JSON: {"benchmark", "domain", "service": what it says of itself, "loop": as xp train --json, "floor": a stage,
"pass_hat": {stage: {k: share}}, "flips": {"better": [case], "worse": [case], "same"}, "bills": {stage:
{"rollouts", "models": {"agent", "user", "judge": {"calls", "prompt_tokens", "completion_tokens", "cost"}}}},
"near_copies": [what of the benchmark's split teaches what it is measured by], "store", "rollouts",
"exit_code"}; with --dry-run {"benchmark", "domain", "service", "train_cases", "test_cases", "rollouts":
{stage: how many at most}}.

Exit code 1 where an evaluation is not whole, or no rollout could be made or learned from.
"""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from trainer.cli.learner import learner_options, take_choice
from trainer.cli.running import (
    AT_LEAST_ONE,
    TRIALS,
    Stages,
    check_report,
    running_options,
    write_report,
)
from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import emit, note, paint
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from trainer.bench.report import BenchReport
    from trainer.bench.run import Bench, BenchPlan
    from trainer.components.remote import Connect
    from trainer.report import Stage
    from trainer.strategies import ModelChoice

TAU2 = "tau2"
DOMAINS = ("airline", "retail", "telecom", "mock")
BATCH, SESSIONS = "batch", "session-commit"
REPORT, LOG = "report.json", "service.log"
ROLES = ("agent", "user", "judge")
KEPT = "What was run and committed is kept; the same command goes on from there."


@click.group("bench", help=__doc__)
def command() -> None:
    """Benchmarks; see the module's docstring."""


@command.command(TAU2, short_help="tau2-bench")
@click.argument("where", metavar="[DIR]", required=False)
@click.option(
    "--domain", type=click.Choice(DOMAINS), default="airline", show_default=True, help="The domain."
)
@click.option(
    "--epochs", type=AT_LEAST_ONE, default=1, show_default=True, metavar="N", help="Passes over the cases."
)
@click.option(
    "--trials", type=TRIALS, default=4, show_default=True, metavar="N", help="Attempts at each case."
)
@click.option("--train-limit", type=AT_LEAST_ONE, metavar="N", help="Train on the first N cases only.")
@running_options
@click.option("--url", metavar="URL", help="A service that runs.")
@click.option("--key-variable", default="", metavar="NAME", help="The variable with that service's key.")
@click.option("--python", metavar="FILE", help="The Python to start a service in.  [default: this one]")
@click.option("--agent-model", default="", metavar="NAME", help="The agent's model, for a service to start.")
@click.option(
    "--user-model", default="", metavar="NAME", help="The simulated user's.  [default: the agent's]"
)
@click.option("--judge-model", default="", metavar="NAME", help="The judge's.  [default: the agent's]")
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of a service to start."
)
@click.option("--data", default="", metavar="DIR", help="Tasks of a folder of tau2's data, for that service.")
@click.option("--train-labels", is_flag=True, help="Let the learner know the labels of training cases.")
@click.option(
    "--trainer",
    type=click.Choice([BATCH, SESSIONS]),
    default=BATCH,
    show_default=True,
    help="Who trains: the learner, or a service that learns from sessions.",
)
@click.option("--session-url", default="", metavar="URL", help="That service, such as xp serve.")
@click.option(
    "--session-branch", default="", metavar="BRANCH", help="Where it commits.  [default: train/live]"
)
@click.option("--session-key-variable", default="", metavar="NAME", help="The variable with its key.")
@learner_options
@dry_run_option
@json_option
@click.pass_context
@pass_app
def tau2(
    app: App, ctx: click.Context, /, where: str | None, *, dry_run: bool, as_json: bool, **given: object
) -> None:
    """Measure on tau2-bench; see `xp bench --help`."""
    choice = take_choice(app, given)
    given["data"] = str(app.cwd / str(given["data"])) if given["data"] else ""
    folder = app.cwd / (where or f"bench-tau2-{given['domain']}")
    _check(given, choice)
    if dry_run:
        _preview(given, choice, as_json=as_json)
        return
    _make_room(app, folder)
    report = _run(folder, given, choice, quiet=as_json)
    answer = {**report.model_dump(mode="json"), "exit_code": report.exit_code}
    write_report(app, str(folder / REPORT), answer)
    if as_json:
        emit(answer)
    else:
        for line in _closing(report, folder):
            click.echo(line)
    ctx.exit(report.exit_code)


def _make_room(app: App, folder: Path) -> None:
    """Make the folder. Raises UsageError where what is paid for could not be kept in it."""
    from tempfile import TemporaryFile

    from trainer.bench.artifacts import EVAL, TRAIN
    from trainer.bench.run import ROLLOUTS

    try:
        for kind in (TRAIN, EVAL):
            (folder / ROLLOUTS / kind).mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=folder / ROLLOUTS / kind):
                pass
        check_report(app, str(folder / REPORT))
        for file in (folder / LOG, folder / REPORT):
            if file.exists():
                file.open("ab").close()
    except OSError as error:
        raise UsageError(
            f"cannot write to {error.filename or folder}: {error.strerror}", hint="name another directory"
        ) from error


def _check(given: Mapping[str, object], choice: ModelChoice | None) -> None:
    """Raise UsageError for options that do not go together."""
    for_start = [
        name for name in ("python", "agent_model", "user_model", "judge_model", "data") if given[name]
    ]
    for_start += ["option"] if given["options"] else []
    if given["url"] and for_start:
        option = for_start[0].replace("_", "-")
        raise UsageError(f"--{option} is for a service to start, and --url names one", hint="leave one out")
    if not given["url"] and not given["agent_model"]:
        raise UsageError("no model is named for the agent", hint="--agent-model NAME, or --url of a service")
    if (given["trainer"] == SESSIONS) != bool(given["session_url"]):
        raise UsageError(f"--trainer {SESSIONS} and --session-url belong together", hint="give both, or none")
    if given["trainer"] == SESSIONS and choice:
        raise UsageError("the service that learns has its own learner", hint="leave --learner out")


def _preview(given: Mapping[str, object], choice: ModelChoice | None, *, as_json: bool) -> None:
    import asyncio
    from tempfile import TemporaryDirectory

    from trainer.bench.run import plan_bench

    async def look(folder: Path) -> BenchPlan:
        async with _service(given, folder) as connect:
            return await plan_bench(_bench(given, choice), connect)

    with TemporaryDirectory() as folder:
        plan = asyncio.run(look(Path(folder)))
    if as_json:
        emit(plan.model_dump(mode="json"))
        return
    click.echo(paint(f"would measure {plan.benchmark} {plan.domain}: {plan.service.get('version')}"))
    click.echo(f"  {plan.train_cases} training cases, {plan.test_cases} test cases")
    for stage, count in plan.rollouts.items():
        click.echo(f"  at most {count} rollouts in {stage}")
    click.echo("What is kept is not run again.")


def _run(
    folder: Path, given: Mapping[str, object], choice: ModelChoice | None, *, quiet: bool
) -> BenchReport:
    import asyncio

    from trainer.bench.run import run_bench
    from trainer.cli.loop import described

    bench = _bench(given, choice)

    async def whole(stages: Stages) -> BenchReport:
        def say(stage: Stage) -> None:
            if not quiet:
                stages.say(described(stage))

        async with _service(given, folder) as connect:
            return await run_bench(folder, bench, connect, say=say, progress=stages.progress)

    with Stages(KEPT) as stages:
        return asyncio.run(whole(stages))


@asynccontextmanager
async def _service(given: Mapping[str, object], folder: Path) -> AsyncIterator[Connect]:
    """Yield what connects to the service: the one that was named, or one that lives as long as this does."""
    from trainer.bench.service import running
    from trainer.remote.client import JsonClient

    key = _key(str(given["key_variable"]))
    async with AsyncExitStack() as stack:
        url = str(given["url"] or "")
        if not url:
            python = str(given["python"] or sys.executable)
            url = await stack.enter_async_context(running(python, _service_command(given), folder / LOG))
        yield lambda: JsonClient(url, key=key)


def _bench(given: Mapping[str, object], choice: ModelChoice | None) -> Bench:
    from trainer.bench.run import Bench
    from trainer.loop import LoopOptions

    names = ("epochs", "trials", "train_limit", "eval_limit", "seed", "parallel", "time_limit")
    values = {name: given[name] for name in names}
    loop = LoopOptions.model_validate({**values, "eval_trials": given["trials"]})
    bench = Bench(
        dataset=TAU2,
        domain=str(given["domain"]),
        loop=loop,
        train_labels=bool(given["train_labels"]),
        choice=choice,
    )
    if given["trainer"] == BATCH:
        return bench
    from dataclasses import replace

    from trainer.bench.sessions import learner_name, session_trainer

    url, branch = str(given["session_url"]), str(given["session_branch"])
    key = _key(str(given["session_key_variable"]))
    return replace(bench, trainer=session_trainer(url, branch, key), learner=learner_name(url))


def _service_command(given: Mapping[str, object]) -> Sequence[str]:
    """Return the verb that starts a service, and its options. Keys are in the environment, not here."""
    options = [f"{role}_model={given[f'{role}_model']}" for role in ROLES if given[f"{role}_model"]]
    options += [f"data={given['data']}"] if given["data"] else []
    options += ["train_labels=yes"] if given["train_labels"] else []
    options += [f"parallel={given['parallel']}", f"time_limit={given['time_limit']}"]
    options += [str(option) for option in given["options"]]  # type: ignore[attr-defined]  # a tuple of click's
    return [
        *("env", "serve", TAU2, "--port", "0", "--json", "--state", ""),
        *("--parallel", str(given["parallel"])),
        *(["--labels"] if given["train_labels"] else []),
        *(part for option in options for part in ("--option", option)),
    ]


def _key(variable: str) -> str:
    """Return the key of the service. Raises UsageError where the variable is not set."""
    import os

    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"{variable} is not set", hint="--key-variable names the variable with the key")
    return key


def _closing(report: BenchReport, folder: Path) -> Iterator[str]:
    from trainer.bench.report import closing_lines, lessons_at
    from trainer.cli.loop import end_lines

    yield from end_lines(report.loop)
    yield ""
    yield from (paint(line) for line in closing_lines(report))
    for copy in report.near_copies:
        note(copy)
    yield ""
    yield paint(f"report: {folder / REPORT}")
    if commit := lessons_at(report):
        yield paint(f"lessons: xp -C {quote(report.store)} log {commit[:12]}")
