"""Make a store: a repository, or a directory in one.

In a repository, DIR becomes the store's prefix and nothing outside it is touched. A second store in
one repository needs a --name; its refs then carry it.

JSON: {"repository", "prefix", "name", "id", "main"}
"""

from __future__ import annotations

import click

from xpstore.cli.app import App, json_option, pass_app, there
from xpstore.cli.output import emit, paint
from xpstore.errors import UsageError


@click.command(help=__doc__)
@click.argument("directory", default=".", metavar="[DIR]")
@click.option("--name", default="", help="Name of the store, where the repository has one already.")
@click.option("--main", default=None, metavar="BRANCH", help="The branch that holds what is accepted.")
@json_option
@pass_app
def command(app: App, directory: str, name: str, main: str | None, *, as_json: bool) -> None:
    """Make the store; see the module's docstring."""
    from xpstore.init import init

    if not directory:
        raise UsageError("the name of the directory is empty", hint="Without a name it is the current one.")
    path = (app.cwd / directory).resolve()
    location = init(path, name=name, main=main)
    config = location.config
    if as_json:
        emit(
            {
                "repository": str(location.repo.place),
                "prefix": location.prefix,
                "name": config.name,
                "id": config.id,
                "main": config.main,
            }
        )
        return
    where = f" (prefix {location.prefix})" if location.prefix else ""
    click.echo(paint(f"Made the store {config.id} in {path}{where}, branch {config.main}"))
    click.echo(paint(f"Next: xp{there(path)} train FILE..."))
