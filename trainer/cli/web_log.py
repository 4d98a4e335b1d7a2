"""The log of a service, on standard error."""

from __future__ import annotations

import logging
from contextlib import suppress

import click

from xpstore.cli.output import note

verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="Write requests, and what fails, to standard error."
)


def write_log(*, verbose: bool) -> None:
    """Write warnings to standard error; with `verbose` requests, too, and why rollouts failed."""
    logging.getLogger().addHandler(_Log(logging.INFO))
    if verbose:
        for name in ("web", "env"):
            logging.getLogger(f"xpstore.trace.{name}").setLevel(logging.INFO)


class _Log(logging.Handler):
    """Writes a log as harmless as every other remark: it may have a client's text in it."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # nobody reads it any more, or its disk is full: what is logged goes on
            note(self.format(record))
