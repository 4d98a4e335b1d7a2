"""What the commands write: text for people (colour), one JSON object for programs, progress.

Text from the store is other people's: on a terminal its control characters are shown, never obeyed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from xpstore.names import invisible_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# What moves the cursor or breaks a line although it is legal in a text.
_BREAKS = re.compile("[\x0b-\x0d\x85\u2028\u2029]")


def to_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def coloured() -> bool:
    """Return whether to colour: on a terminal, unless NO_COLOR is set or the terminal is dumb."""
    return to_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str = "", *, bold: bool = False) -> str:
    """Return text for standard output, in a colour of click's where colours are wanted.

    On a terminal, control characters become `<U+001B>`: what a store holds cannot drive it.
    """
    if not to_terminal():
        return text
    shown = _visible(text)
    if not coloured() or not (colour or bold):
        return shown
    return click.style(shown, fg=colour or None, bold=bold or None)


def _visible(text: str) -> str:
    spans = [(start, end) for start, end, _ in invisible_spans(text)]
    for start, end in reversed(spans):
        text = text[:start] + "".join(map(_named, text[start:end])) + text[end:]
    return _BREAKS.sub(lambda found: _named(found[0]), text)


def _named(char: str) -> str:
    return f"<U+{ord(char):04X}>"


def emit(value: Mapping[str, object]) -> None:
    """Write the one JSON object of a `--json` answer."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    readable = encoding.lower().replace("-", "") == "utf8"
    click.echo(json.dumps(value, ensure_ascii=not readable, indent=2))


def one_line(text: str) -> str:
    """Return text that is to stand in a row, such as the name of a case, without breaks of a line."""
    return " ".join(text.split())


def note(text: str) -> None:
    """Write a remark to standard error, where it disturbs no pipe; as harmless as `paint`'s text."""
    click.echo(_visible(text) if sys.stderr.isatty() else text, err=True)


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return `1 lesson`, `2 lessons`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def grouped(items: Iterable[str] | Mapping[str, int], limit: int) -> list[tuple[str, int]]:
    """Return the distinct items (or counted ones) with their counts, commonest first; the rest as one row."""
    ordered = sorted(Counter(items).items(), key=lambda row: (-row[1], row[0]))
    rest = sum(count for _, count in ordered[limit:])
    return [*ordered[:limit], ("for other reasons", rest)] if rest else ordered


def shortened(identifier: str, length: int = 9) -> str:
    """Return the beginning of an id, long enough for people."""
    return identifier[:length]


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a callback (stage, done, total) that draws bars on a terminal's standard error, else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    with Bars(console=Console(stderr=True), transient=True) as bars:
        stages: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(stage, total=total)
            bars.update(stages[stage], completed=done, total=total)

        yield report
