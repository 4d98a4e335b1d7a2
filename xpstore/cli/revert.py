"""Undo plans by new plans; what was learned later stays.

The arguments are plan ids or commits; a few digits will do. --run undoes all plans of a training run, and
--evidence all that rest on a rollout, a note on one (trajectory), a case or a session. Where later plans
changed what they wrote, those are listed and nothing is undone; --with-dependants undoes them too. Undoing an
undo brings the plan back. Evidence is kept, so that the same rollouts do not teach the same thing again.

On main, an undo passes the gate as anything else does, where there is one (xp gate --help); what it does not
accept waits on a branch of its own.

JSON: {"branch": where the commits are, "undos": [{"plan_id", "commit": "" in a dry run, "subject", "undone":
[plan id], "target": commit, "items": [{"kind", "name"}]}], "dependants": [{"commit", "subject"}], "later":
[{"commit", "subject"}]}: undone because they build on it; and later commits on the same experiences, which
stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, branch_option, dry_run_option, json_option, pass_app
from xpstore.cli.gating import gating_of, gating_options, tell
from xpstore.cli.output import counted, emit, paint, shortened
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.events import Entry
    from xpstore.revert import Undo


@click.command(help=__doc__)
@click.argument("plans", nargs=-1, metavar="[PLAN|COMMIT]...")
@click.option("--run", metavar="ID", help="All plans of this training run.")
@click.option("--evidence", metavar="ID", help="All plans that rest on it.")
@click.option("--with-dependants", is_flag=True, help="Undo later plans that build on it, too.")
@gating_options
@branch_option
@dry_run_option
@json_option
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    plans: tuple[str, ...],
    *,
    run: str | None,
    evidence: str | None,
    with_dependants: bool,
    no_gate: bool,
    no_land: bool,
    branch: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Undo; see the module's docstring."""
    from xpstore.revert import Wanted, revert

    if [bool(plans), run is not None, evidence is not None].count(True) != 1 or "" in (run, evidence):
        raise UsageError(
            "name what to undo: plans, or a run, or a piece of evidence",
            hint="xp revert PLAN..., xp revert --run ID or xp revert --evidence ID",
        )
    location = app.location()
    target = app.branch(location, branch)
    wanted = Wanted(plans, run or "", evidence or "")
    gating = gating_of(app, location, target, no_gate=no_gate, no_land=no_land, dry_run=dry_run)
    result = revert(location, wanted, target, dry_run=dry_run, with_dependants=with_dependants, gating=gating)
    tell(result.verdict)
    where = result.branch or target
    if as_json:
        emit(
            {
                "branch": where,
                "undos": [_object(undo) for undo in result.undos],
                "dependants": [{"commit": e.commit, "subject": e.subject} for e in result.dependants],
                "later": [{"commit": e.commit, "subject": e.subject} for e in result.later],
            }
        )
        return
    _list(result.dependants, "later plan", "that builds on it goes with it", "that build on it go with it")
    _list(result.later, "later commit", "on the same experiences stays", "on the same experiences stay")
    for undo in result.undos:
        names = ", ".join(i.target_experience_name for i in undo.plan.items)
        if dry_run:
            click.echo(paint(f"Would commit on {target}: {undo.plan.subject} ({names})"))
        else:
            sha = paint(shortened(undo.commit), "yellow")
            click.echo(f"{paint(f'[{where}')} {sha}] {paint(undo.plan.subject)} ({paint(names)})")


def _object(undo: Undo) -> dict[str, object]:
    return {
        "plan_id": undo.plan.plan_id,
        "commit": undo.commit,
        "subject": undo.plan.subject,
        "undone": list(undo.plan.reverts),
        "target": undo.target.commit,
        "items": [{"kind": i.kind, "name": i.target_experience_name} for i in undo.plan.items],
    }


def _list(entries: Sequence[Entry], what: str, one: str, many: str) -> None:
    if entries:
        click.echo(f"{counted(len(entries), what)} {one if len(entries) == 1 else many}:")
    for entry in entries:
        click.echo(f"  {paint(shortened(entry.commit), 'yellow')} {paint(entry.subject)}")
