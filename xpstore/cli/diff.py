"""Show how the experiences differ between two commits.

A B or A..B compares the two; A...B compares B with where it left A, as a review does; A alone is compared
with HEAD. NAME limits it to one experience.

JSON: {"from", "to": commits, "experiences": [{"name", "change": "added"|"deleted"|"changed", "patch"}]}
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import emit, paint
from xpstore.cli.pager import page
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xpstore.location import Location

_CHANGES = {"A": "added", "D": "deleted", "M": "changed", "T": "changed"}
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command(help=__doc__)
@click.argument("args", nargs=-1, required=True, metavar="A..B | A B [NAME]")
@json_option
@pass_app
def command(app: App, args: tuple[str, ...], *, as_json: bool) -> None:
    """Compare; see the module's docstring."""
    location = app.location()
    old, new, name = _sides(location, args)
    options = ["--no-renames", "--no-ext-diff", "--no-textconv", "--full-index"]
    where = _places(location, old, new, name)
    if not as_json:
        text = _git(location, ["diff", *options, old, new, "--", *where])
        if text:
            page(painted(text.removesuffix("\n").split("\n")), app.pager())
        return
    listed = _git(location, ["diff", *options, "--name-status", "-z", old, new, "--", *where]).split("\0")
    rows = []
    for status, path in zip(listed[::2], listed[1::2], strict=False):
        patch = _git(location, ["diff", *options, old, new, "--", path])
        rows.append(
            {
                "name": path.rpartition("/")[2].removesuffix(".md"),
                "change": _CHANGES.get(status, "changed"),
                "patch": patch,
            }
        )
    emit({"from": old, "to": new, "experiences": rows})


def painted(diff: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a diff as git colours them."""
    in_header = True
    for line in diff:
        if line.startswith(("diff ", "@@")):
            in_header = line.startswith("diff ")
        if in_header:
            yield paint(line, bold=True)
        else:
            yield paint(line, _COLOURS.get(line[:1], ""))


def _git(location: Location, args: list[str]) -> str:
    from xpstore import gitcli

    return gitcli.run(location.repo.place, args).decode("utf-8", "replace")


def _sides(location: Location, args: tuple[str, ...]) -> tuple[str, str, str]:
    """Return the ids of both commits and the name, empty for all."""
    repo = location.repo
    both = re.fullmatch(r"(.*?)(\.{2,3})(.*)", args[0])
    if both:
        old, new = repo.resolve(both[1] or "HEAD"), repo.resolve(both[3] or "HEAD")
        if both[2] == "...":
            old = _git(location, ["merge-base", old, new]).strip()
        rest = args[1:]
    else:
        old, new = repo.resolve(args[0]), repo.resolve(args[1] if len(args) > 1 else "HEAD")
        rest = args[2:]
    if len(rest) > 1:
        raise UsageError(f"too many arguments: {' '.join(rest)}", hint="xp diff A..B NAME")
    return old, new, rest[0] if rest else ""


def _places(location: Location, old: str, new: str, name: str) -> list[str]:
    """Return the folder, or the file of one experience, where the store lies on either side."""
    from xpstore import layout
    from xpstore.names import check_name

    path = f"{layout.EXPERIENCES}/{check_name(name)}.md" if name else layout.EXPERIENCES
    return sorted({location.at(commit).in_tree(path) for commit in (old, new)})
