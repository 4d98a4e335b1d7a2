"""Exchange main, evidence and evaluations with a shared repository.

Fetches, brings together and pushes, all or nothing. Plans that only this clone has go on top of those that
others have published meanwhile; evidence is a union, and what was forgotten in one clone is forgotten in all
that sync. Candidates stay here and are named: xp publish shares them too. Code commits and merges on main are
published and taken in as any others; only where both sides have moved they are for git to bring together
first (git pull). A main that shares no history, or would lose most of its pages, is refused with what would
be lost.

JSON: {"remote", "received": [ref], "published": [ref], "only_local": [ref], "forgotten": [rollout]}

Exit code 1 where there is no remote, it is out of reach, both changed the same in ways that exclude each
other, or one of those is refused; then nothing is published.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import counted, emit, paint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.sync import SyncResult


@click.command(help=__doc__)
@click.argument("remote", metavar="[REMOTE]", default="")
@json_option
@pass_app
def command(app: App, remote: str, *, as_json: bool) -> None:
    """Exchange; see the module's docstring."""
    from xpstore.sync import sync

    show(sync(app.location(), remote), as_json=as_json)


def show(result: SyncResult, *, as_json: bool) -> None:
    """Write the result for people, or as JSON."""
    if as_json:
        emit(asdict(result))
        return
    for line in _lines(result):
        click.echo(paint(line))


def _lines(result: SyncResult) -> Iterator[str]:
    if result.forgotten:
        yield f"Forgot {counted(len(result.forgotten), 'rollout')} that another clone has forgotten"
    for verb, refs in (("Received", result.received), ("Published", result.published)):
        if refs:
            yield f"{verb} {', '.join(sorted(map(_short, refs), key=_order))} ({result.remote})"
    if not result.received and not result.published:
        yield f"Everything up-to-date ({result.remote})"
    for ref in result.only_local:
        yield f"Only local: {_short(ref)} (xp publish shares it)"


def _order(name: str) -> tuple[bool, bool, str]:
    """Sort main first, then what is the store's own, then candidates."""
    return "/" in name, not name.startswith("xp/"), name


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/").removeprefix("refs/")
