"""Remove a rollout, or a whole session, from the repository.

The rollout, its notes and what else is only about it leave the evidence branch, its history, the reflogs
and the packs. Lessons that cite it stay and are listed: undo them with xp revert. Other clones, remotes
and backups still have it. There is no way back, so it asks first; --yes does not.

SESSION is the id or the URI of a session of xp serve. The service keeps what was said in it until a client
deletes it.

JSON: {"rollouts": [id], "lessons": [{"plan_id", "experience", "statement"}], "removed": [path], "remotes":
[branch], "dry_run"}
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, note, paint
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.forget import Forgotten


@click.command(help=__doc__)
@click.argument("rollout", metavar="ROLLOUT|SESSION")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@dry_run_option
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App, ctx: click.Context, rollout: str, *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Forget; see the module's docstring."""
    from xpstore.forget import forget_all, named

    location = app.location()
    rollouts = named(location, rollout)
    if dry_run or not yes:
        result = forget_all(location, rollouts, dry_run=True)
        if not dry_run:
            _ask(ctx, result, as_json=as_json)
    if not dry_run:
        result = forget_all(location, rollouts)  # before anything is written: nobody may be there to read it
    if as_json:
        emit({**asdict(result), "dry_run": dry_run})
        return
    for line in _lines(result) if dry_run or yes else ():
        click.echo(line)
    click.echo("Nothing was written." if dry_run else "Forgotten.")


def _ask(ctx: click.Context, would_go: Forgotten, *, as_json: bool) -> None:
    """Show what would go, and ask; a no ends the program. Raises UsageError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise UsageError(
            "forgetting cannot be undone", hint="add --yes to do it, or --dry-run to see what goes"
        )
    for line in () if as_json else _lines(would_go):
        click.echo(line)
    if not click.confirm("Forget it for good?", err=True):
        note("nothing was forgotten")
        ctx.exit(1)


def _lines(result: Forgotten) -> Iterator[str]:
    yield paint(f"Rollout {', '.join(result.rollouts)}: {counted(len(result.removed), 'file')} of evidence")
    for path in result.removed:
        yield paint(f"  {path}")
    if result.lessons:
        yield f"{counted(len(result.lessons), 'statement')} cite it and stay (xp revert PLAN undoes them):"
    for lesson in result.lessons:
        title = lesson.statement.partition("\n")[0]
        yield f"  {paint(lesson.plan_id, 'yellow')} {paint(lesson.experience)}: {paint(title)}"
    for remote in result.remotes:
        yield paint(f"{remote} has a copy that stays at its remote", "yellow")
