"""Measure whether a branch may land: does it harm, does it help.

Runs the cases of `[gate]` in xp.toml under the experiences of BRANCH, as they would land, and under those of
main, with the same draws on both sides. ACCEPT: a loss above the margin is ruled out. REJECT: it is worse.
INCONCLUSIVE: neither; the answer says how many trials would decide. Progress is claimed where chance does not
explain the gain. What was decided once is on record and is not drawn again; --trials asks an open question
with more trials.

Lessons that quote ids, names or phrases of a gate or test case are refused before anything is run. A suite
that is too small to reject anything is named.

--self-test asks whether the gate can be trusted with these cases: the experiences of main against themselves
must hardly ever be called progress, and a planted harm must be rejected. Nothing is written.

JSON: {"branch", "main", "how", "record": what is kept as evidence, "path", "measured", "needed", "figures",
"flips": [{"name", "baseline", "candidate", "difference"}], "pages": [{"name", "change"}], "lessons":
[{"commit", "author", "subject", "body", "plan_ids"}], "quotations": [{"sentence", "is_blatant"}], "unscored",
"environment", "agent", "model", "simulator", "code", "cost": {"ran", "reused", "seconds"}, "again", "url",
"evidence_branch", "store", "exit_code"}

Exit code 0 for ACCEPT, or where nothing would land; 1 for REJECT; 2 for INCONCLUSIVE, and where it could not
be measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trainer.cli.gate_options import INTERRUPTED, accept_option, again_of, options_of
from trainer.cli.running import TRIALS, Stages, check_report, note_uncommitted, parallel_options
from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import counted, emit, note, one_line, paint, shortened
from xpstore.errors import UsageError, XpError
from xpstore.layout import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trainer.gate.report import GateReport
    from xpstore.candidate import LandingCandidate
    from xpstore.location import Location

EXIT = {"accept": 0, "reject": 1, "inconclusive": 2}
FLIPS_SHOWN = 8
FILES = ("markdown", "junit")


@click.command(help=__doc__)
@click.argument("branch", metavar="[BRANCH]", default="")
@click.option("--against", default="", metavar="BRANCH", help="What it would replace.  [default: main]")
@click.option("--suite", default="", metavar="SUITE", help="Other cases.  [default: as xp.toml says]")
@click.option("--trials", type=TRIALS, metavar="N", help="Attempts at each case.  [default: as xp.toml says]")
@click.option("--markdown", default="", metavar="FILE", help="Write the report for a pull request to FILE.")
@click.option("--junit", default="", metavar="FILE", help="Write the cases as JUnit XML to FILE.")
@click.option("--url", default="", metavar="URL", help="The repository on the web, for links in the report.")
@click.option("--hold", is_flag=True, help="On a server: keep the decision where no push can write.")
@click.option("--self-test", "is_test", is_flag=True, help="Try the gate itself on main.")
@accept_option
@parallel_options
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    branch: str,
    *,
    against: str,
    is_test: bool,
    as_json: bool,
    **given: object,
) -> None:
    """Gate; see the module's docstring."""
    location = app.location()
    if bool(branch) == is_test:
        hint = "xp status lists the candidates; --self-test needs none"
        raise UsageError("name one BRANCH, or --self-test", hint=hint)
    note_uncommitted(location, CASES, f"those of {against or location.config.main} are run")
    for name in FILES:
        if given[name]:
            check_report(app, str(given[name]))
    if is_test:
        if unused := [f"--{name}" for name in (*FILES, "hold", "url") if given[name]]:
            raise UsageError(f"--self-test makes no report for {unused[0]}", hint="--json says all of it")

        from trainer.cli.gate_check import run_test

        ctx.exit(run_test(location, against, given, as_json=as_json))
    ctx.exit(_run(app, location, branch, against, given, as_json=as_json))


def _run(  # noqa: PLR0913  # the options of the verb
    app: App, location: Location, branch: str, against: str, given: Mapping[str, object], *, as_json: bool
) -> int:
    from trainer.gate.junit import junit, junit_of_nothing
    from trainer.gate.landing import LandingGate
    from trainer.gate.markdown import markdown, markdown_of_nothing
    from trainer.gate.report import gate_report
    from xpstore.landing import land

    with Stages(INTERRUPTED) as stages:
        ask = LandingGate(app.cwd, app.store, options_of(given), stages.progress, note)
        result = land(location, branch, onto=against, gate=ask, dry_run=True, on_suspect="ignore")
    if ask.gated is None:
        what = result.candidate
        text = markdown_of_nothing(location.config.id, what.branch, what.main)
        _write(app, str(given["markdown"]), text.encode("utf-8", "replace"))
        _write(app, str(given["junit"]), junit_of_nothing(what.branch, what.main))
        return _nothing(what, as_json=as_json)
    report = gate_report(
        location,
        result.candidate,
        ask.gated,
        again=again_of(app, branch, against, given),
        url=str(given["url"]),
    )
    if given["hold"]:
        _hold(location, report)
    _write(app, str(given["markdown"]), markdown(report).encode("utf-8", "replace"))
    _write(app, str(given["junit"]), junit(report, ask.gated.decision.changes))
    code = EXIT[report.record.decision]
    if as_json:
        emit({**report.model_dump(mode="json"), "exit_code": code})
    else:
        for line in describe(report):
            click.echo(line)
    return code


def describe(report: GateReport) -> Iterator[str]:
    """Yield the report for people."""
    record = report.record
    yield paint(f"{record.decision.upper()}: {one_line(record.reason)}", bold=True)
    for sentence in report.suspects:
        yield paint(f"  does not land by itself: {one_line(sentence)}", "yellow")
    if report.figures:
        low, high = report.figures.low * 100, report.figures.high * 100
        yield (
            f"  {report.figures.baseline:.2%} to {report.figures.candidate:.2%} on"
            f" {counted(report.figures.cases, 'case')}, {report.figures.trials} trials each;"
            f" {low:+.1f} to {high:+.1f} points"
        )
    for flip in report.flips[:FLIPS_SHOWN]:
        yield paint(f"  {flip.baseline:>6} → {flip.candidate:6}  {one_line(flip.name)}")
    if len(report.flips) > FLIPS_SHOWN:
        yield f"  and {len(report.flips) - FLIPS_SHOWN} more cases that came out otherwise (--json lists all)"
    for quotation in report.quotations:
        yield paint(f"  {one_line(quotation.sentence)}")
    if report.unscored:
        yield paint(f"  {counted(len(report.unscored), 'trial')} not scored: {report.unscored[0].error}")
    cost = report.cost
    yield paint(f"  {counted(cost.ran, 'trial')} run, {cost.reused} on record; decision {report.path}")


def _nothing(what: LandingCandidate, *, as_json: bool) -> int:
    if as_json:
        emit({"branch": what.branch, "main": what.main, "record": None, "exit_code": 0})
    else:
        click.echo("Everything up-to-date")
    return 0


def _hold(location: Location, report: GateReport) -> None:
    """Keep the record, and the evaluations that it names, in the git directory: no push reaches them.

    Raises RepositoryError where it cannot be written.
    """
    from xpstore import evidence
    from xpstore.failures import failure

    folder = location.repo.common_dir / "xpstore.gates"
    try:
        folder.mkdir(exist_ok=True)
        for path in filter(None, (*report.record.evaluations, report.path)):  # the record last: all is there
            data = evidence.read(location, path)
            if data is not None:
                (folder / path.rpartition("/")[2]).write_bytes(data)
    except OSError as error:
        raise failure("hold the decision", folder, error) from error
    note(f"{shortened(report.path.rpartition('/')[2])} is held in {folder}")


def _write(app: App, name: str, data: bytes) -> None:
    if name:
        try:
            (app.cwd / name).write_bytes(data)
        except OSError as error:
            raise XpError(
                f"cannot write {name}: {error.strerror}", hint="the decision is on record"
            ) from error
