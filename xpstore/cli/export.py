"""Write the experiences as files that other programs read.

\b
FORMAT is one of
  skills      a folder per experience with a SKILL.md (Agent Skills)
  agents-md   a block in AGENTS.md; what else is in the file stays as it is
  claude-md   the same in CLAUDE.md
  openviking  a folder of OpenViking's experience files
  json        one JSON document

What agents are served is exported: status production and staging, or all with --all. Figures below
statements (support, intervals) are for reviewers and left out of what agents read, unless --figures. Without
--output a block or a document goes to standard output.

An export may be repeated: it replaces what it wrote before, and removes files of experiences that are no
more. A file that it did not write, or that somebody has changed since, is in the way, and nothing is written;
--force replaces it. An experience is called as its file is, whatever its front matter says. `xp init --from`
makes a store of such files again.

JSON: {"format", "ref", "commit", "output", "experiences": [name], "written": [path], "unchanged": [path],
"removed": [path], "left_out": {experience: why}}
"""  # noqa: D301  # a real backspace: what follows keeps its lines

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, note
from xpstore.errors import UsageError
from xpstore.exchange.formats import FOLDERS, FORMATS

if TYPE_CHECKING:
    from xpstore.exchange.bundle import Bundle
    from xpstore.exchange.formats import Format
    from xpstore.exchange.write import Changes


@click.command(help=__doc__)
@click.option("--format", "form", required=True, type=click.Choice(FORMATS), help="See above.")
@click.option("-o", "--output", default="", metavar="PATH", help="The folder or file to write.")
@click.option("--ref", metavar="REF", help="Branch, tag or commit to read.  [default: the main branch]")
@click.option("--all", "everything", is_flag=True, help="Also what agents are not served.")
@click.option("--figures", is_flag=True, help="With the figures below statements.")
@click.option("--force", is_flag=True, help="Write over files that are in the way.")
@dry_run_option
@json_option
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    form: Format,
    output: str,
    ref: str | None,
    *,
    everything: bool,
    figures: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Export; see the module's docstring."""
    from xpstore.exchange.bundle import bundle
    from xpstore.exchange.write import write
    from xpstore.snapshot import snapshot

    location = app.location()
    if not output and (form in FOLDERS or as_json):
        raise UsageError("there is no place to write to", hint="name one with --output")
    shown = ref or location.config.main
    store = location.config.id
    found = snapshot(location, ref or location.main_ref)
    made = bundle(found, form, store, everything=everything, figures=figures)
    if not output:
        click.echo(made.files[""], nl=False)
        _tell_left_out(made)
        return
    changes = write(made, app.cwd / output, store, force=force, dry_run=dry_run)
    if as_json:
        emit(
            {
                "format": form,
                "ref": shown,
                "commit": made.commit,
                "output": output,
                "experiences": list(made.names),
                "written": list(changes.written),
                "unchanged": list(changes.unchanged),
                "removed": list(changes.removed),
                "left_out": dict(made.left_out),
            }
        )
        return
    _tell(made, changes, output, dry_run=dry_run)
    _tell_left_out(made)


def _tell(made: Bundle, changes: Changes, output: str, *, dry_run: bool) -> None:
    would = "Would write" if dry_run else "Wrote"
    verb = would if changes.written or changes.removed else "Nothing to change:"
    removed = (
        f", {'would remove' if dry_run else 'removed'} {len(changes.removed)}" if changes.removed else ""
    )
    click.echo(f"{verb} {counted(len(made.names), 'experience')} of {made.commit[:9]} to {output}{removed}")


def _tell_left_out(made: Bundle) -> None:
    for name, why in made.left_out.items():
        note(f"left out: {name}: {why}")
