"""Mend the repository after a loss of power or a full disk.

Broken objects, packs, refs and indexes are found and named. What can be restored is: objects from the files
beside them, from patches and records of the evidence; a ref from its reflog, and the plans that were lost
with it from their records. Nothing is discarded: what is replaced is kept below the git directory.

JSON: {"dry_run", "whole", "faults": [{"what", "problem", "done": "" where it is not mended}], "missing":
[object], "kept_in": folder}

Exit code 1 where something is left to mend; in a dry run, where there is anything to mend.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, paint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.repair import Repaired

_SHOWN = 20
"""How many missing objects are listed."""


@click.command(help=__doc__)
@dry_run_option
@json_option
@click.pass_context
@pass_app
def command(app: App, ctx: click.Context, *, dry_run: bool, as_json: bool) -> None:
    """Mend it; see the module's docstring."""
    from xpstore.repair import repair

    result = repair(app.cwd, dry_run=dry_run)
    if as_json:
        emit({"dry_run": dry_run, "whole": result.is_whole, **asdict(result)})
    else:
        for line in _lines(result, app, dry_run=dry_run):
            click.echo(line)
    ctx.exit(0 if result.is_whole else 1)


def _lines(result: Repaired, app: App, *, dry_run: bool) -> Iterator[str]:
    for fault in result.faults:
        colour = "green" if fault.done else "red"
        done = f" -> {fault.done}" if fault.done else ""
        yield f"{paint(fault.what, colour)}: {paint(fault.problem + done)}"
    for missing in result.missing[:_SHOWN]:
        yield f"{paint(missing, 'red')}: nobody here has it"
    if len(result.missing) > _SHOWN:
        yield f"and {counted(len(result.missing) - _SHOWN, 'object')} more"
    if result.kept_in:
        yield paint(f"What was replaced is kept in {result.kept_in}")
    if not result.faults and not result.missing:
        yield "Nothing is broken."
    elif dry_run:
        yield paint(f"{app.typed()} repair mends what can be mended")
    elif result.missing or any(not f.done and not f.what.startswith("commit ") for f in result.faults):
        yield paint(
            f"A clone or a backup has the rest: `{app.typed('git')} fetch --refetch REMOTE`, then once more"
        )
