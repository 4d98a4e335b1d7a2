"""Keep the store fast: fold its packs, index its history.

The store does it by itself when it has many packs (unless git's gc.auto is 0). No object is dropped; that
is `git gc`.

JSON: {"ran", "packs_before", "packs_after", "swept"}; "ran" is false where another process is at it.
"""

from __future__ import annotations

from dataclasses import asdict

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import counted, emit, paint


@click.command(help=__doc__)
@json_option
@pass_app
def command(app: App, *, as_json: bool) -> None:
    """Do it; see the module's docstring."""
    from xpstore.maintain import maintain

    done = maintain(app.location())
    if as_json:
        emit({"ran": done is not None, **(asdict(done) if done else {})})
    elif done is None:
        click.echo("Another process is at it.")
    else:
        click.echo(paint(f"{counted(done.packs_before, 'pack')} folded into {done.packs_after}."))
        if done.swept:
            click.echo(paint(f"Removed {counted(done.swept, 'file')} that killed writers had left behind."))
