"""Make a store: a repository, or a directory in one.

In a repository, DIR becomes the store's prefix and nothing outside it is touched. A second store in
one repository needs a --name; its refs then carry it. With --from, the first commit also has the pages
(experiences/*.md), suites (cases/*.jsonl), README.md and settings (xp.toml) of a folder of plain files; or
the pages of a folder of Agent Skills (<name>/SKILL.md), of OpenViking's experiences, or of a CLAUDE.md or
AGENTS.md; of a project's folder, CLAUDE.md, AGENTS.md and the skills in .claude and .agents are read.
Nothing is made where one of them is wrong; what has no place in a store is told.

JSON: {"repository", "prefix", "name", "id", "main", "experiences": [name], "suites": [name], "left_out":
[what else is in the folder]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app, there
from xpstore.cli.output import counted, emit, paint
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from xpstore.location import Location
    from xpstore.source import Source

LEFT_OUT_SHOWN = 5


@click.command(help=__doc__)
@click.argument("directory", default=".", metavar="[DIR]")
@click.option("--name", default="", help="Name of the store, where the repository has one already.")
@click.option("--main", default=None, metavar="BRANCH", help="The branch that holds what is accepted.")
@click.option("--from", "folder", metavar="SOURCE", help="A folder of files, or a CLAUDE.md, to begin with.")
@json_option
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App, directory: str, name: str, main: str | None, folder: str | None, *, as_json: bool
) -> None:
    """Make the store; see the module's docstring."""
    from xpstore.init import init

    if not directory or folder == "":
        raise UsageError("the name of the directory is empty", hint="without a name it is the current one")
    path = (app.cwd / directory).resolve()
    source = _read(app.cwd / folder) if folder else None
    location = init(path, name=name, main=main, source=source)
    config = location.config
    if as_json:
        emit(
            {
                "repository": str(location.repo.place),
                "prefix": location.prefix,
                "name": config.name,
                "id": config.id,
                "main": config.main,
                "experiences": source.names if source else [],
                "suites": source.suites if source else [],
                "left_out": list(source.left_out) if source else [],
            }
        )
        return
    for line in _lines(location, path, source):
        click.echo(paint(line))


def _read(folder: Path) -> Source:
    from xpstore.exchange.foreign import read_any  # takes as long as all the rest, and few need it

    return read_any(folder)


def _lines(location: Location, path: Path, source: Source | None) -> Iterator[str]:
    config = location.config
    where = f" (prefix {location.prefix})" if location.prefix else ""
    yield f"Made the store {config.id} in {path}{where}, branch {config.main}"
    if source:
        suites = f", suites of cases: {', '.join(source.suites)}" if source.suites else ""
        yield f"It begins with {counted(len(source.names), 'experience')}{suites}"
        rest = len(source.left_out) - LEFT_OUT_SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        if source.left_out:
            yield f"Left out: {', '.join(source.left_out[:LEFT_OUT_SHOWN])}{more}"
    can_run = bool(source and source.suites and config.environment.name)
    yield f"Next: xp{there(path)} {'eval' if can_run else 'train FILE...'}"
