"""Find experiences by what they are about.

Words of any script; the query is plain text and has no operators. Without --ref, what is accepted (the
main branch) is searched, whatever its status.

JSON: {"ref", "commit", "query", "hits": [{"name", "score", "status", "description"}], "unreadable":
{name: why}}

Exit code 1 when nothing is found.
"""

from __future__ import annotations

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.nothing import tell_nothing
from xpstore.cli.output import emit, note, paint


@click.command(help=__doc__)
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option("--ref", metavar="REF", help="Branch, tag or commit to search.  [default: the main branch]")
@click.option("-n", "--max-count", "limit", default=10, type=click.IntRange(min=1), show_default=True)
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App, ctx: click.Context, query: tuple[str, ...], ref: str | None, limit: int, *, as_json: bool
) -> None:
    """Search; see the module's docstring."""
    from xpstore.experience import SERVED
    from xpstore.page_index import PageIndex

    location = app.location()
    with PageIndex.at(location, ref or location.main_ref) as page_index:
        hits = page_index.search(" ".join(query), limit)
        bad = page_index.unreadable
    if as_json:
        rows = [
            {"name": e.name, "score": score, "status": e.status, "description": e.description}
            for e, score in hits
        ]
        emit(
            {
                "ref": ref or location.config.main,
                "commit": page_index.commit,
                "query": " ".join(query),
                "hits": rows,
                "unreadable": bad,
            }
        )
    else:
        for experience, score in hits:
            shelf = "" if experience.status in SERVED else f" ({experience.status})"
            click.echo(
                f"{score:.2f}  {paint(experience.name, 'yellow')}{shelf}  {paint(experience.description)}"
            )
        if not hits:
            shown = ref or location.config.main
            tell_nothing(location, len(page_index), shown, f"experience on {shown} fits the query")
        for name, why in bad.items():
            note(f"not searched: {name}: {why}")
    ctx.exit(0 if hits else 1)
