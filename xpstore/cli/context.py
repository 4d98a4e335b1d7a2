"""Print what an agent should read before a task.

First the pages for every task (front matter `always: true`), then the best pages for this task, whole, as
far as they fit into the budget; a page is cut only where nothing would fit otherwise. Only what is served:
status production or staging. Without --ref, from the main branch. Tokens are estimated.

JSON: {"ref", "commit", "task", "budget", "tokens", "pages": [{"name", "score", "tokens", "whole", "text"}],
"left_out": [{"name", "score", "tokens"}], "unreadable": {name: why}}
"""

from __future__ import annotations

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.nothing import tell_nothing
from xpstore.cli.output import emit, note, paint


@click.command(help=__doc__)
@click.argument("task", nargs=-1, required=True, metavar="TASK...")
@click.option("--ref", metavar="REF", help="Branch, tag or commit to read.  [default: the main branch]")
@click.option(
    "--budget",
    default=4000,
    type=click.IntRange(min=1),
    metavar="TOKENS",
    show_default=True,
    help="How much to read.",
)
@json_option
@pass_app
def command(app: App, task: tuple[str, ...], ref: str | None, budget: int, *, as_json: bool) -> None:
    """Choose and print; see the module's docstring."""
    from xpstore.page_index import PageIndex
    from xpstore.serving import read_from

    location = app.location()
    with PageIndex.at(location, ref or location.main_ref) as page_index:
        reading = read_from(page_index, " ".join(task), budget)
        unreadable = page_index.unreadable
    if as_json:
        emit(
            {
                "ref": ref or location.config.main,
                "commit": page_index.commit,
                "task": " ".join(task),
                "budget": budget,
                "tokens": reading.tokens,
                "pages": [
                    {"name": p.name, "score": p.score, "tokens": p.tokens, "whole": p.whole, "text": p.text}
                    for p in reading.pages
                ],
                "left_out": [
                    {"name": p.name, "score": p.score, "tokens": p.tokens} for p in reading.left_out
                ],
                "unreadable": unreadable,
            }
        )
        return
    text = "\n".join(paint(page.text) for page in reading.pages)
    click.echo(text, nl=bool(text) and not text.endswith("\n"))  # a page that was cut ends in its middle
    if not reading.pages and not reading.left_out:
        shown = ref or location.config.main
        tell_nothing(location, len(page_index), shown, f"experience on {shown} that is served fits the task")
    for page in reading.left_out:
        note(f"left out for the budget: {page.name} (about {page.tokens} tokens)")
    for name, why in unreadable.items():
        note(f"not read: {name}: {why}")
