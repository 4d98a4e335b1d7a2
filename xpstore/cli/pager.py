"""The pager: long output on a terminal is read in a program of the reader's choice, as with git."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import click

from xpstore.cli.output import coloured, to_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable


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
