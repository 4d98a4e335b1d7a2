"""Sync, and share candidates too, all or nothing.

Without BRANCH it shares every open candidate. One that was brought up to date here replaces what the shared
repository has of it; one that has other commits there is refused. --exact is for what a gate has accepted:
main is published as it is, or not at all where others have published meanwhile.

JSON: as xp sync
"""

from __future__ import annotations

import click

from xpstore.cli.app import App, json_option, pass_app


@click.command(help=__doc__)
@click.argument("branches", metavar="[BRANCH]...", nargs=-1)
@click.option("--remote", default="", metavar="REMOTE", help="Where to.  [default: as xp sync]")
@click.option("--exact", is_flag=True, help="Never make main's plans again on top of those of others.")
@json_option
@pass_app
def command(app: App, branches: tuple[str, ...], *, remote: str, exact: bool, as_json: bool) -> None:
    """Publish; see the module's docstring."""
    from xpstore.cli.sync import show
    from xpstore.history import candidates
    from xpstore.sync import sync

    loc = app.location()
    result = sync(loc, remote, branches=branches or candidates(loc), is_exact=exact)
    show(result, as_json=as_json)
