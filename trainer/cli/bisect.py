"""Find the update that made the agent worse, by noisy scores.

Every update of the experiences between GOOD and BAD, commits or plans, is a suspect. Cases of the suite are
run where a trial tells most, until one suspect is likely enough; then it is run against its parent once
more, and named. Scores on record are used, and what is measured is recorded: the same command goes on where
it was stopped. A trial that cannot be scored says nothing, and commits where none can be are passed over.
Nothing is named where the ends do not differ measurably: by 15 points in some case.

`git bisect run xp eval --fail-under 0.6` works, too. It trusts every score, and needs far more rollouts.

JSON: {"state": "found", "same" (no difference), "stuck" (no trial would tell more) or "spent", "good", "bad",
"suite", "cases", "suspects", "undone": commits that others undid, "same": probability, "culprit": [suspect],
"likeliest": [{"commit", "subject", "plans", "learner", "rollouts", "probability"}], "fell": [{"name",
"before": [passed, n], "after", "probability"}], "confirmation": {"only_before", "only_after": pairs of trials
on one seed that only this side passed, "bet", "needed"} or null, "skipped": [{"commit", "error"}],
"rollouts", "reused", "revert": command or "", "exit_code"}; of a dry run {"good", "bad", "suite", "cases",
"suspects", "undone", "reused", "likeliest", "next": {"aim", "commits", "cases", "trials"} or null}

Exit code 1 when no update is named; 2 when GOOD is no ancestor of BAD, or there is nothing to run.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import click

from trainer.cli.running import AT_LEAST_ONE, Stages, case_option, limit_options, note_uncommitted
from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, paint, shortened
from xpstore.layout import CASES, EXPERIENCES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.bisect.outcome import Intended, Outcome, Suspect
    from trainer.bisect.run import Report
    from trainer.bisect.search import Search
    from xpstore.location import Location

KEPT = "What was measured is on record; the same command goes on from there."
_CASES_SHOWN = 6


@click.command(help=__doc__)
@click.option("--good", required=True, metavar="COMMIT", help="Where all was well.")
@click.option("--bad", default="HEAD", show_default=True, metavar="COMMIT", help="Where it is not.")
@click.option("--suite", default="gate", show_default=True, metavar="SUITE", help="Which cases.")
@case_option
@click.option(
    "--confidence",
    type=click.FloatRange(min=0.5, max=1, max_open=True),
    default=0.95,
    show_default=True,
    metavar="P",
    help="How sure to be before somebody is named.",
)
@click.option(
    "--max-rollouts",
    type=AT_LEAST_ONE,
    default=500,
    show_default=True,
    metavar="N",
    help="What this run may cost.",
)
@limit_options
@dry_run_option
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    *,
    good: str,
    bad: str,
    suite: str,
    cases: tuple[str, ...],
    confidence: float,
    max_rollouts: int,
    seed: int | None,
    parallel: int,
    time_limit: float,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Search; see the module's docstring."""
    location = app.location()  # a missing store is reported before anything heavy is loaded

    from trainer.bisect.outcome import preview
    from trainer.bisect.search import Question, prepare

    question = Question(good, bad, suite, cases, confidence, max_rollouts, parallel, time_limit, seed)
    if bad == "HEAD":
        note_uncommitted(location, EXPERIENCES, "the last commit is the bad one")
    note_uncommitted(location, CASES, f"those of {location.config.main} are run")
    found = prepare(location, question)
    if dry_run:
        if as_json:
            emit(preview(found).model_dump(mode="json"))
            return
        for line in (*_intended(found), *_previewed(preview(found).next)):
            click.echo(line)
        return
    end = searched(app, found, is_quiet=as_json)
    typed = _typed(app, location, end)
    if as_json:
        emit({**end.model_dump(mode="json"), "revert": typed, "exit_code": end.exit_code})
    else:
        for line in (*described(end, question.confidence), *_next(typed)):
            click.echo(line)
    ctx.exit(end.exit_code)


def _typed(app: App, location: Location, end: Outcome) -> str:
    """Return the command that undoes the culprit; empty where nobody is named."""
    if not end.revert:
        return ""
    if not end.culprit[0].plans:
        return f"{app.typed('git')} {end.revert}"
    where = "" if location.repo.head_ref() else f" --branch {quote(location.config.main)}"
    return f"{app.typed()} {end.revert}{where}"


def searched(app: App, found: Search, *, is_quiet: bool) -> Outcome:
    """Run a search, and tell of it unless `is_quiet`. Raises RefusedError as `run.search`."""
    import asyncio

    from trainer.bisect.outcome import outcome
    from trainer.bisect.run import search
    from trainer.store_door import StoreDoor

    async def run(stages: Stages) -> Outcome:
        async with StoreDoor(app.cwd, app.store) as door:

            def say(report: Report) -> None:
                if not is_quiet:
                    stages.say(_progress(found, report))

            return outcome(found, *await search(door, found, say, stages.progress))

    for line in () if is_quiet else _intended(found):
        click.echo(line)
    with Stages(KEPT) as stages:
        return asyncio.run(run(stages))


def _intended(found: Search) -> Iterator[str]:
    span = found.span
    ends = f"good {shortened(span.states[0].commit)} and bad {shortened(span.states[-1].commit)}"
    suspects = counted(len(span.suspects), "suspect")
    cases = f"{counted(len(found.cases), 'case')} of {found.question.suite}"
    yield paint(f"{suspects} between {ends}; {cases}, {counted(found.reused, 'score')} on record")
    if span.undone:
        yield paint(
            f"  {counted(span.undone, 'commit')} left out: the experiences came back to what they were"
        )


def _progress(found: Search, report: Report) -> Iterator[str]:
    """Yield what a step did: aim, commits, trials, and who is suspected now."""
    step, span = report.step, found.span
    sides = zip(step.states, report.passed, report.n, strict=True)
    trials = ", ".join(f"{shortened(span.states[n].commit)} {won}/{n_}" for n, won, n_ in sides)
    who = shortened(span.suspect(report.after).commit)
    more = (
        f" or {counted(report.after - report.before - 1, 'other')}"
        if report.after > report.before + 1
        else ""
    )
    yield paint(f"  {step.aim:8} {trials:34} likeliest {who}{more} {report.chance:.0%}".replace("%", " %"))
    for failure in report.failures:
        yield paint(f"           {failure.name} could not be scored: {failure.error}")


def described(end: Outcome, confidence: float) -> Iterator[str]:
    """Yield what was found, for people."""
    yield ""
    yield from _verdict(end, confidence)
    for skipped in end.skipped:
        yield paint(f"  {shortened(skipped.commit)} was passed over: {skipped.error}")
    yield f"{counted(end.rollouts, 'rollout')} run, {counted(end.reused, 'score')} reused"


def _next(typed: str) -> Iterator[str]:
    if typed:
        yield ""
        yield "Next:"
        yield paint(f"  {typed}")


def _verdict(end: Outcome, confidence: float) -> Iterator[str]:
    if end.state == "same":
        ends = f"{shortened(end.good)} and {shortened(end.bad)}"
        yield paint(f"{ends} do not differ measurably on {counted(end.cases, 'case')} of {end.suite}")
        yield f"  no difference: {_percent(end.same)}; no case is known to have fallen by 15 points"
        return
    if end.state == "found":
        several = len(end.culprit) > 1
        yield "One of these broke it; what lies between them cannot be evaluated:" if several else "Broken by"
        for one in end.culprit:
            yield from _suspect(one)
    else:
        why = "the rollouts are spent" if end.state == "spent" else "no trial would tell more"
        yield f"Nobody is sure enough to be named ({_percent(confidence)}): {why}. The likeliest:"
        for one in end.likeliest:
            yield from _suspect(one)
    for fall in end.fell[:_CASES_SHOWN]:
        before, after = (f"{won}/{n}" for won, n in (fall.before, fall.after))
        yield paint(f"  {fall.name}: {before} passed before it, {after} from it on")
    if len(end.fell) > _CASES_SHOWN:
        yield f"  and {counted(len(end.fell) - _CASES_SHOWN, 'other case')}"
    if end.confirmation:
        pairs, only = end.confirmation, "against its parent on the same seeds"
        yield f"  {only}: {pairs.only_before} trials only the parent passed, {pairs.only_after} only it"


def _suspect(one: Suspect) -> Iterator[str]:
    yield paint(f"  {shortened(one.commit)} {one.subject} ({_percent(one.probability)})")
    for plan in one.plans:
        rests = f", rollouts: {one.rollouts}" if one.rollouts else ""
        yield paint(f"    plan {plan} ({one.learner or 'unknown learner'}{rests})")


def _percent(share: float) -> str:
    return f"{min(share, 0.999):.1%}".replace("%", " %")


def _previewed(step: Intended | None) -> Iterator[str]:
    if step:
        commits = " and ".join(map(shortened, step.commits))
        yield paint(
            f"would run {', '.join(step.cases)} at {commits}, {counted(step.trials, 'trial')} of each"
        )
    else:
        yield "nothing would be run: what is on record decides it"
