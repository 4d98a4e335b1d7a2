"""What `promote`, `deprecate` and `archive` share: a plan that changes the status of experiences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, branch_option, dry_run_option, json_option, pass_app
from xpstore.cli.gating import gating_of, gating_options, tell
from xpstore.cli.output import emit, note, paint, shortened

if TYPE_CHECKING:
    from xpstore.experience import PolicyStatus


def lifecycle_command(status: PolicyStatus, description: str) -> click.Command:
    """Return the verb that gives experiences a status; `description` is its help."""

    @click.command(help=description)
    @click.argument("names", nargs=-1, required=True, metavar="NAME...")
    @gating_options
    @branch_option
    @dry_run_option
    @json_option
    @pass_app
    def command(  # noqa: PLR0913  # the options of the verbs
        app: App,
        names: tuple[str, ...],
        *,
        branch: str | None,
        no_gate: bool,
        no_land: bool,
        dry_run: bool,
        as_json: bool,
    ) -> None:
        from xpstore.status import set_status

        location = app.location()
        target = app.branch(location, branch)
        gating = gating_of(app, location, target, no_gate=no_gate, no_land=no_land, dry_run=dry_run)
        result = set_status(location, names, status, target, dry_run=dry_run, gating=gating)
        tell(result.verdict)
        where = result.branch or target
        changed = [item.target_experience_name for item in result.plan.items]
        if as_json:
            emit(
                {
                    "plan_id": result.plan.plan_id,
                    "branch": where,
                    "commit": result.commit,
                    "status": status,
                    "changed": changed,
                    "already": list(result.already),
                }
            )
            return
        for name in result.already:
            note(f"{name} is {status} already")
        if dry_run:
            click.echo(paint(f"Would commit on {target}: {result.plan.subject}"))
        else:
            sha = paint(shortened(result.commit), "yellow")
            click.echo(f"{paint(f'[{where}')} {sha}] {paint(result.plan.subject)}")

    return command
