"""Accept what a branch has learned: main moves to its commits.

Where main has moved since the branch began, the plans are first made again on top of it, pages that both
changed are merged by statement (of what both changed, --resolver llm asks a model how it reads best; its
answer is checked as any other), and the branch moves along; --merge leaves its commits as they are and makes
a merge commit instead. All of the branch lands, or nothing: what cannot be merged without a doubt stops it,
and so does a merge or rebase that is not finished. Where main is checked out, its files follow; local changes
stay, and one that is in the way stops the landing before anything moves. Only experiences land: a branch that
changes other files too is for git, or for the site that hosts the repository. What another page says already,
or the opposite of it, is named; [duplicates] in xp.toml says whether that stops the landing.

Where xp.toml names an environment and there are gate cases, the gate measures exactly what would land (`xp
gate --help`), and only what it accepts lands. What it leaves open stays on its branch; --accept-inconclusive
makes it your decision, and --no-gate lands without a measurement. Both go on record with your name or the
reason. A dry run asks the gate too, and what was measured is kept.

Plans whose text gives orders to its readers, or that rest on rollouts which do, are suspect: their pages are
drafts, and nothing lands with them before a person has read them and says --accept-suspect, which goes on
record; or undoes them on the branch (xp revert PLAN --branch BRANCH).

JSON: {"state": "landed", "nothing" (main has it already), "suspect" (a person has to say), "rejected" or
"inconclusive" (by a gate), "dry_run", "branch", "main", "old": commit, "new": commit, "how": "fast-forward",
"re-parented" or "merge", "merged": [page that both had changed], "merges": [{"name", "base", "ours",
"theirs", "result": blobs, "verdict": "PROVEN" or "VERIFIED", "resolved_by", "account": [what became of which
statement]}], "left_out": [commit of which nothing is left to land], "duplicates": [{"kind": "page",
"statement" or "contradiction", "page", "other", "text", "other_text", "similarity"}], "suspects":
[{"plan_id", "commit", "subject", "why"}], "plans": [plan id], "commits": [as in xp log, oldest first],
"verdict": {"decision", "reason"} or null, "gate": [as in xp gate] or null, "ungated": why there was no gate,
or ""}

Exit code 1 when main has changed the same in a way that excludes it (JSON: "conflicts", pages), a guard or
a local change says no, a plan is suspect, or the gate rejects it; 2 when there is no such branch, or the gate
cannot tell.
"""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING

import click

from trainer.cli.gate import describe as describe_gate
from trainer.cli.gate_options import gate_options, land_gated
from trainer.cli.learner import resolver_options, take_resolver
from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, paint, shortened
from xpstore.resolution import Asking
from xpstore.resolver import PERSON, how_decided

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trainer.cli.gate_options import GatedLanding
    from xpstore.candidate import LandingCandidate
    from xpstore.landing import LandingResult

DUPLICATES_SHOWN = 10
EXIT = {"landed": 0, "nothing": 0, "rejected": 1, "suspect": 1, "inconclusive": 2}


@click.command(help=__doc__)
@click.argument("branch", metavar="BRANCH")
@click.option("--onto", default="", metavar="BRANCH", help="Where to land.  [default: main of xp.toml]")
@click.option("--merge", is_flag=True, help="Make one merge commit; the branch's own commits stay.")
@resolver_options
@gate_options
@dry_run_option
@json_option
@click.option("--no-input", is_flag=True, help="Never ask. So it is anyway: what needs a person is an error.")
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    branch: str,
    *,
    onto: str,
    merge: bool,
    dry_run: bool,
    as_json: bool,
    no_input: bool,  # noqa: ARG001  # scripts may say so; nothing is asked
    **given: object,
) -> None:
    """Land; see the module's docstring."""
    location = app.location()
    resolver = take_resolver(app, location, given)
    decide = Asking(resolver) if resolver else None
    landed = land_gated(
        app, location, branch, given, onto=onto, merge=merge, dry_run=dry_run, merge_page=decide
    )
    if as_json:
        emit(as_object(landed.result, dry_run=dry_run, gated=landed))
    else:
        for line in describe(landed.result, app, dry_run=dry_run, gated=landed):
            click.echo(line)
    ctx.exit(EXIT[landed.result.state])


class Landing:
    """The landing of what a training run has learned: `xp train --land`."""

    def __init__(self, app: App, given: Mapping[str, object]) -> None:
        self._app = app
        self._given = given
        self._landed: GatedLanding | None = None

    def land(self, branch: str) -> None:
        """Land a branch on main, if the gate accepts it. Raises XpError as `xp land`."""
        self._landed = land_gated(self._app, self._app.location(), branch, self._given)

    @property
    def exit_code(self) -> int:
        """The exit code of `xp land`; 0 where there was nothing to land."""
        return EXIT[self._landed.result.state] if self._landed else 0

    @property
    def answer(self) -> dict[str, object] | None:
        """The `--json` answer of `xp land`; None where there was nothing to land."""
        return as_object(self._landed.result, dry_run=False, gated=self._landed) if self._landed else None

    def lines(self) -> Iterator[str]:
        """Yield what `xp land` says."""
        if self._landed:
            yield ""
            yield from describe(self._landed.result, self._app, dry_run=False, gated=self._landed)


def as_object(
    result: LandingResult, *, dry_run: bool, gated: GatedLanding | None = None
) -> dict[str, object]:
    """Return the result as the `--json` answer shows it."""
    from xpstore.cli.log import as_object as commit_object

    what = result.candidate
    return {
        "state": result.state,
        "dry_run": dry_run,
        "branch": what.branch,
        "main": what.main,
        "old": what.old,
        "new": what.new,
        "how": what.how,
        "merged": list(what.merged),
        "merges": [page.model_dump(mode="json", exclude={"wanted"}) for page in what.merges],
        "left_out": list(what.left_out),
        "duplicates": [asdict(one) for one in what.duplicates],
        "suspects": [asdict(one) for one in what.suspects],
        "plans": list(what.plan_ids),
        "commits": [commit_object(entry) for entry in what.entries],
        "verdict": asdict(result.verdict) if result.verdict else None,
        "gate": gated.report.model_dump(mode="json") if gated and gated.report else None,
        "ungated": gated.ungated if gated else "",
    }


def describe(
    result: LandingResult, app: App, *, dry_run: bool, gated: GatedLanding | None = None
) -> Iterator[str]:
    """Yield the result for people, in git's manner: what moved, what came with it, what to type next."""
    what = result.candidate
    yield from _verdict(result, gated)
    if result.state == "nothing":
        yield "Everything up-to-date"
        return
    if result.state != "landed":
        if result.state == "suspect":
            yield from _suspects(what, app)
        yield paint(f"Nothing landed; {what.main} stays at {shortened(what.old)}")
        return
    verb = "Would update" if dry_run else "Updating"
    yield paint(f"{verb} {shortened(what.old)}..{shortened(what.new)}")
    yield paint(_how(what))
    for entry in what.entries:
        yield f"  {paint(shortened(entry.commit), 'yellow')} {paint(entry.subject)}"
        for side in entry.merged:
            yield f"    {paint(shortened(side.commit), 'yellow')} {paint(side.subject)}"
    yield from _remarks(what)
    for sentence in what.let_in:
        yield paint(f"  {sentence}", "yellow")
    if gated and gated.ungated:
        yield paint(f"  no gate: {gated.ungated}")
    if not dry_run:
        count = what.others + sum(len(entry.merged) or 1 for entry in what.entries)
        yield paint(f"{counted(count, 'commit')} landed on {what.main}")
        yield ""
        yield "Next:"
        yield paint(f"  {app.typed()} log {what.main}")


def _remarks(what: LandingCandidate) -> Iterator[str]:
    """Yield what was merged, what is said twice, and what was left out."""
    for page in what.merges:
        by = how_decided(page.resolved_by)
        yield paint(f"  merged: {page.name}, which {what.main} had changed too ({page.verdict}{by})")
        for fate in page.account:
            if (
                fate.fate == "dropped" and page.resolved_by != PERSON
            ):  # who decided it is told by `xp resolve`
                why = f" ({fate.reason})" if fate.reason else ""
                yield paint(f"    dropped: {' '.join(fate.text.split())}{why}")
    for one in what.duplicates[:DUPLICATES_SHOWN]:
        yield paint(f"  warning: {one.sentence}", "yellow")
    if len(what.duplicates) > DUPLICATES_SHOWN:
        yield f"  and {len(what.duplicates) - DUPLICATES_SHOWN} more such (--json lists all)"
    if what.left_out:
        yield paint(f"  left out: {counted(len(what.left_out), 'commit')} of which nothing is left to land")


def _suspects(what: LandingCandidate, app: App) -> Iterator[str]:
    """Yield the plans that a person has to read, why, and what can be done about them."""
    for plan in what.suspects:
        yield paint(f"Suspect: {shortened(plan.commit)} {plan.subject}: {plan.why}", "yellow")
    xp, first = app.typed(), what.suspects[0]
    yield paint(f"  {xp} show {shortened(first.commit)}   # read it, and what it was learned from")
    yield paint(f"  {xp} revert {shortened(first.plan_id)} --branch {quote(what.branch)}   # without it")
    yield paint("  or let it in, on record: --accept-suspect")


def _verdict(result: LandingResult, gated: GatedLanding | None) -> Iterator[str]:
    if gated and gated.report:
        yield from describe_gate(gated.report)
    elif result.verdict:
        yield paint(f"Gate: {result.verdict.decision}: {result.verdict.reason}")


def _how(what: LandingCandidate) -> str:
    if what.how == "re-parented":
        return f"Re-parented {what.branch} on {what.main}, which had moved"
    return "Merge commit" if what.how == "merge" else "Fast-forward"
