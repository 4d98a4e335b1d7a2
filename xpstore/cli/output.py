"""What the commands write: text for people (pager, colour), one JSON object for programs, progress.

Text from the store is other people's: on a terminal its control characters are shown, never obeyed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# C0 without tab and newline, DEL, C1; then what reorders or hides text: bidi controls, zero width, tags.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


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
    shown = _CONTROLS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
    if not coloured() or not (colour or bold):
        return shown
    return click.style(shown, fg=colour or None, bold=bold or None)


def page(lines: Iterable[str], pager: str = "") -> None:
    """Write lines; on a terminal through the pager, as git does.

    `pager` is a shell command line; empty or `cat` = none. A reader who quits early is no error.
    """
    if not to_terminal() or pager in {"", "cat"}:
        for line in lines:
            click.echo(line, color=coloured())
        return
    sys.stdout.flush()
    settings = {"LESS": "FRX", "LV": "-c"}  # git's: quit if it fits, keep colours and the screen
    command = ["sh", "-c", pager] if os.name != "nt" else shlex.split(pager)
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, env={**settings, **os.environ}, text=True, encoding="utf-8"
    )
    try:
        process.communicate("\n".join(lines) + "\n")
    finally:
        # A Ctrl-C is for the pager: leaving before it does would leave the terminal to two readers.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        process.wait()
        signal.signal(signal.SIGINT, before)


def emit(value: Mapping[str, object]) -> None:
    """Write the one JSON object of a `--json` answer."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    readable = encoding.lower().replace("-", "") == "utf8"
    click.echo(json.dumps(value, ensure_ascii=not readable, indent=2))


def note(text: str) -> None:
    """Write a remark to standard error, where it disturbs no pipe."""
    click.echo(text, err=True)


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return `1 lesson`, `2 lessons`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


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
