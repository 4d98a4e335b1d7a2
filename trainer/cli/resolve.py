"""Land a branch, and decide where main says the opposite.

Without --take, your editor shows each such page with markers (as git does: $VISUAL, $EDITOR). --take ours
keeps what main says, --take theirs what the branch says, both only where they exclude each other: all else is
merged. With --resolver llm a model is asked, which has to account for every statement, and what it may not
write stays undecided. What was left out is listed, its commits stay under a ref, and `xp log -S TEXT` finds
it. Nothing moves before all pages are decided; markers that are left, broken front matter and opposite
commands are refused. Where one side deleted a page, the editor shows what the other has; an empty file
decides nothing.

JSON: as xp land, and "decided": [{"page", "dropped": [text of one side that is not in the result]}], "kept":
the ref of the branch as it was before, "" where nothing was left out

Exit code 1 where a page was left undecided, where the gate rejects it, and, with --no-input or without a
terminal, and no --take, where there is a page to decide (JSON: "conflicts", pages; "next", the choices); 2
when there is no such branch, or the gate cannot tell.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, cast

import click

from trainer.cli.gate_options import gate_options, land_gated
from trainer.cli.land import EXIT, as_object, describe
from trainer.cli.learner import resolver_options, take_resolver
from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import emit, note, paint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xpstore.by_hand import Taken
    from xpstore.errors import ConflictError

_NEED_TERMINAL = frozenset({"vi", "vim", "nvim", "nano", "pico", "joe", "micro", "hx", "emacs"})


@click.command(help=__doc__)
@click.argument("branch", metavar="BRANCH")
@click.option("--take", type=click.Choice(["ours", "theirs"]), help="Whose word counts where both exclude.")
@click.option("--onto", default="", metavar="BRANCH", help="Where to land.  [default: main of xp.toml]")
@resolver_options
@gate_options
@dry_run_option
@json_option
@click.option("--no-input", is_flag=True, help="Open no editor.")
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    branch: str,
    *,
    take: str | None,
    onto: str,
    dry_run: bool,
    as_json: bool,
    no_input: bool,
    **given: object,
) -> None:
    """Land and decide; see the module's docstring."""
    from xpstore import left_out
    from xpstore.by_hand import Edited, TakeSide
    from xpstore.errors import ConflictError, UsageError
    from xpstore.resolution import Asking

    loc = app.location()
    resolver = take_resolver(app, loc, given)
    if resolver and take:
        raise UsageError("--take and --resolver exclude each other", hint="one of both decides")
    before = loc.tip_of(loc.branch_ref(branch))
    asked = Edited(_none if no_input or not _can_edit() else _edit)
    decider = TakeSide(cast("Taken", take)) if take else asked
    merge_page = Asking(resolver) if resolver else decider
    try:
        landed = land_gated(app, loc, branch, given, onto=onto, dry_run=dry_run, merge_page=merge_page)
    except ConflictError as error:
        if take:
            raise
        is_edited = asked.edit is _edit and not resolver
        raise _undecided(error, branch, asked.left if is_edited else {}) from error
    decided = [decider.decided[path] for path in sorted(decider.decided)]
    is_settled = landed.result.state in {"landed", "nothing"} and not dry_run
    is_moved = is_settled and loc.tip_of(loc.branch_ref(branch)) != before
    kept = left_out.keep(loc, before) if before and is_moved and any(d.dropped for d in decided) else ""
    if as_json:
        pages = [{"page": d.path.removesuffix(".md"), "dropped": list(d.dropped)} for d in decided]
        emit({**as_object(landed.result, dry_run=dry_run, gated=landed), "decided": pages, "kept": kept})
        ctx.exit(EXIT[landed.result.state])
    if landed.result.state == "nothing" and decided:
        click.echo(paint(f"Nothing of {branch} is left to land on {landed.result.candidate.main}"))
    else:
        for line in describe(landed.result, app, dry_run=dry_run, gated=landed):
            click.echo(line)
    for page in decided:
        click.echo(paint(f"decided: {page.path.removesuffix('.md')}"))
        for text in page.dropped:
            click.echo(paint(f"  left out: {text.strip()}"))
    if kept:
        click.echo(
            paint(f"{branch} as it was is kept as {kept}; `{app.typed()} log -S TEXT` finds its words")
        )
    ctx.exit(EXIT[landed.result.state])


def _undecided(error: ConflictError, branch: str, left: Mapping[str, str]) -> ConflictError:
    """Return the error with the choices that there are, rather than the command that was just typed."""
    from xpstore.errors import ConflictError

    pages = "; ".join(f"{path.removesuffix('.md')} is not decided: {why}" for path, why in left.items())
    choices = tuple(f"xp resolve {quote(branch)} --take {side}" for side in ("ours", "theirs"))
    return ConflictError(
        pages or error.message,
        error.conflicts,
        hint=f"choose a side: {' or '.join(f'`{c}`' for c in choices)}; or edit it in a terminal"
        " (take the markers out); nothing was moved",
        kept=error.kept,
        choices=choices,
    )


def _can_edit() -> bool:
    """Whether an editor can be opened: a terminal, or one that was named and needs none."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    program = Path(named.split()[0]).name if named.split() else "vi"
    return program not in _NEED_TERMINAL or (sys.stdin.isatty() and sys.stdout.isatty())


def _edit(path: str, text: str) -> str | None:
    """Return the text as edited; None where the editor was left without saving, or failed."""
    note(f"xp: decide {path} between the markers")
    try:
        return click.edit(text, extension=".md", require_save=True)  # a page's name has no place in a shell
    except click.ClickException as error:
        note(f"xp: {error.format_message()}")
    except OSError:
        note("xp: the editor has taken the file away")
    except UnicodeDecodeError:
        note("xp: what the editor saved is not UTF-8")
    return None


def _none(path: str, text: str) -> None:
    """Leave it undecided."""
    del path, text
