"""Merge one page for git, where both sides changed it.

Set up once per clone, for git does not copy it: `git config merge.xp.driver "xp merge-driver %O %A %B %L
%P"`, `git config merge.xp.recursive binary`, and `experiences/*.md merge=xp` in .gitattributes. What both
sides changed differently is left between markers in CURRENT, and the exit code is 1, as it is where
anything is no page. Sites that merge by themselves never call it.
"""

from __future__ import annotations

from pathlib import Path

import click

from xpstore.cli.output import note

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("merge-driver", help=__doc__)
@click.argument("versions", type=_FILE, nargs=3, metavar="BASE CURRENT OTHER")
@click.argument("marker_size", type=click.IntRange(min=1), default=7)
@click.argument("path", default="")
@click.pass_context
def command(ctx: click.Context, versions: tuple[Path, Path, Path], marker_size: int, path: str) -> None:
    """Merge; see the module's docstring."""
    from xpstore.merge_driver import drive

    base, current, other = versions
    done = drive(base.read_bytes(), current.read_bytes(), other.read_bytes(), marker_size, path)
    current.write_bytes(done.data)
    if not done.is_clean:
        note(f"xp: both sides changed {path or current}: decide between the markers")
        ctx.exit(1)
