"""Show how the experiences differ between two commits.

A B or A..B compares the two; A...B compares B with where it left A, as a review does; A alone is compared
with HEAD. A plan id stands for its commit. NAME limits it to one experience.

JSON: {"from", "to": commits, "experiences": [{"name", "change": "A"|"M"|"D"|"R", "patch"}]}
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.log import none_of
from xpstore.cli.output import emit, paint
from xpstore.cli.pager import page
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xpstore.location import Location

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_START = "diff --git a/"
_MARKS = (("new file mode ", "A"), ("deleted file mode ", "D"), ("rename to ", "R"))


@click.command(help=__doc__)
@click.argument("args", nargs=-1, required=True, metavar="A..B | A B [NAME]")
@json_option
@pass_app
def command(app: App, args: tuple[str, ...], *, as_json: bool) -> None:
    """Compare; see the module's docstring."""
    from xpstore import history
    from xpstore.names import check_name

    location = app.location()
    old, new, rest = _sides(location, args)
    if len(rest) > 1:
        raise UsageError(f"too many arguments: {' '.join(rest)}", hint="xp diff A..B NAME")
    name = check_name(rest[0]) if rest else None
    text = history.changes(location, old, new, name)
    if name and not text:
        none_of(location, name, old, new)
    if as_json:
        emit({"from": old, "to": new, "experiences": list(by_experience(text))})
    elif text:
        page(painted(lines_of(text)), app.pager())


def _sides(location: Location, args: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    """Return the ids of both commits, and the arguments that are left."""
    from xpstore import gitcli, history

    both = re.fullmatch(r"(.*?)(\.{2,3})(.*)", args[0])
    if not both:
        ends = (args[0], args[1] if len(args) > 1 else "HEAD")
        old, new = (history.find_commit(location, end) for end in ends)
        return old, new, args[2:]
    old, new = (history.find_commit(location, end or "HEAD") for end in (both[1], both[3]))
    if both[2] == "...":
        old = gitcli.run(location.repo.place, ["merge-base", old, new]).decode().strip()
    return old, new, args[1:]


def lines_of(text: str) -> list[str]:
    """Return the lines of git's output; other line separators than LF are text."""
    return text.removesuffix("\n").split("\n")


def painted(diff: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a diff as git colours them."""
    in_header = True
    for line in diff:
        if line.startswith((_START, "@@")):
            in_header = line.startswith(_START)
        yield paint(line, bold=True) if in_header else paint(line, _COLOURS.get(line[:1], ""))


def by_experience(diff: str) -> Iterator[dict[str, str]]:
    """Yield name, kind of change and patch of every file in a diff."""
    for patch in diff.split(f"\n{_START}") if diff else ():
        body = patch.removeprefix(_START).removesuffix("\n")
        header, *rest = body.split("\n")
        path, kind = header[: (len(header) - 3) // 2], "M"  # `x b/x`
        for line in rest:
            if line.startswith("@@"):
                break
            for mark, letter in _MARKS:
                if line.startswith(mark):
                    kind = letter
                    path = line.removeprefix(mark) if letter == "R" else path
        name = path.rpartition("/")[2].removesuffix(".md")
        yield {"name": name, "change": kind, "patch": f"{_START}{body}\n"}
