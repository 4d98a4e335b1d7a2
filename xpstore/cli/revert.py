"""Undo a plan by a new plan; what was learned later stays.

The argument is a plan id or a commit; a few digits will do. Undoing an undo brings the plan back. Evidence
is kept, so that the same rollouts do not teach the same thing again.

JSON: {"plan_id", "branch", "commit": "" in a dry run, "subject", "undone": [plan id], "target": commit,
"items": [{"kind", "name"}], "later": [{"commit", "subject"}]}: later commits on the same experiences.
"""

from __future__ import annotations

import click

from xpstore.cli.app import App, branch_option, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, paint, shortened


@click.command(help=__doc__)
@click.argument("plan", metavar="PLAN|COMMIT")
@branch_option
@dry_run_option
@json_option
@pass_app
def command(app: App, plan: str, branch: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Undo; see the module's docstring."""
    from xpstore.revert import revert

    location = app.location()
    target_branch = app.branch(location, branch)
    result = revert(location, plan, target_branch, dry_run=dry_run)
    undo = result.plan
    if as_json:
        emit(
            {
                "plan_id": undo.plan_id,
                "branch": target_branch,
                "commit": result.commit,
                "subject": undo.subject,
                "undone": list(undo.reverts),
                "target": result.target.commit,
                "items": [{"kind": i.kind, "name": i.target_experience_name} for i in undo.items],
                "later": [{"commit": e.commit, "subject": e.subject} for e in result.later],
            }
        )
        return
    if result.later:
        click.echo(f"{counted(len(result.later), 'later commit')} on the same experiences:")
        for entry in result.later:
            click.echo(f"  {paint(shortened(entry.commit), 'yellow')} {paint(entry.subject)}")
    names = ", ".join(i.target_experience_name for i in undo.items)
    if dry_run:
        click.echo(paint(f"Would commit on {target_branch}: {undo.subject} ({names})"))
    else:
        sha = paint(shortened(result.commit), "yellow")
        click.echo(f"{paint(f'[{target_branch}')} {sha}] {paint(undo.subject)} ({paint(names)})")
