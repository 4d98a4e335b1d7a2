"""The entry point of `xp`: options before the verb, errors and exit codes.

Exit codes: 0 done or yes, 1 no (a guard, a finding, something that does not exist, a full disk), 2 wrong
use or bad input, 70 a defect of the program, 130 interrupted, 141 the reader of the output went away. A verb
that gives an exception another `exit_code` has its way, with defects and lost output too.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App
from xpstore.cli.output import emit, note
from xpstore.cli.verbs import VerbGroup
from xpstore.errors import UsageError, XpError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

INTERRUPTED = 128 + signal.SIGINT
READER_GONE = 128 + 13  # SIGPIPE, which Windows does not name
DEFECT = 70  # sysexits.h: EX_SOFTWARE
COMPLETE = "_XP_COMPLETE"
COLLECT_AFTER = 100_000
"""New objects before Python looks for garbage: imports make many and drop none."""


@click.group(
    cls=VerbGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("-C", "directories", metavar="DIR", multiple=True, help="Work as if started there; adds up.")
@click.option("--store", metavar="NAME", help="Name, id or folder of the store, where there are several.")
@click.option("-P", "--no-pager", is_flag=True, help="Write long output straight to the terminal.")
@click.version_option(
    None, "--version", package_name="xpstore", prog_name="xp", message="%(prog)s %(version)s"
)
@click.pass_context
def cli(ctx: click.Context, directories: tuple[str, ...], store: str | None, *, no_pager: bool) -> None:
    """Keep what agents learn in git: every lesson is a commit to read, test and undo."""
    cwd = Path.cwd()
    for directory in directories:
        cwd = (cwd / directory).resolve()
        if not cwd.is_dir():
            raise UsageError(f"cannot change to '{directory}': no such directory")
    ctx.obj = App(cwd=cwd, store=store, paging=not no_pager)
    if ctx.invoked_subcommand is None:
        note(ctx.get_help())
        ctx.exit(2)


def run(args: Sequence[str]) -> int:
    """Run one command line; write what went wrong for people, or as JSON. Return the exit code."""
    try:
        return _run(args)
    except OSError as error:
        if not _is_output(error):
            raise
        return _output_lost(error)


def _run(args: Sequence[str]) -> int:
    try:
        with cli.make_context("xp", list(args)) as ctx:
            cli.invoke(ctx)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "xp"
        return _fail(UsageError(error.format_message().rstrip("."), hint=f"see '{path} --help'"), args)
    except XpError as error:
        return _fail(error, args)
    except (KeyboardInterrupt, click.Abort):
        note("interrupted")
        return INTERRUPTED
    return 0


def _is_output(error: OSError) -> bool:
    """Return whether an error comes from writing to a stream: in click's functions, or in `_run` itself."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__") if trace else None
    return isinstance(error, BrokenPipeError) or (
        error.filename is None and module in {"click.utils", __name__}
    )


def _output_lost(error: OSError) -> int:
    """Say why the output cannot be written, unless its reader left. Return the exit code."""
    # What is still in the buffer would raise again when Python closes the stream.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return READER_GONE
    note(f"error: the output cannot be written: {error.strerror}")
    note("hint: check where it goes and the free space there; whatever else the command did is done")
    return int(getattr(error, "exit_code", 1))


def _fail(error: XpError, args: Sequence[str]) -> int:
    options = args[: args.index("--")] if "--" in args else args
    if "--json" in options:
        emit(error.as_json())
    else:
        note(f"error: {error.message}")
        if error.hint:
            note(f"hint: {error.hint}")
    return error.exit_code


def report_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Replace Python's traceback by one line (`sys.excepthook`); XP_TRACEBACK=1 shows it.

    Raises SystemExit: a defect must not look like a "no" (exit code 1).
    """
    if os.environ.get("XP_TRACEBACK"):
        sys.__excepthook__(kind, error, trace)
    else:
        text = " ".join(str(error).split())
        note(f"error: this is a defect of xp: {kind.__name__}: {text}")
        note("hint: set XP_TRACEBACK=1, run it again, and report the traceback")
    raise SystemExit(getattr(error, "exit_code", DEFECT))


def main() -> None:
    """Run `xp` as a program."""
    gc.set_threshold(COLLECT_AFTER, 10, 10)
    sys.excepthook = report_defect
    if sys.stdout is None:  # the next file that is opened would get its number
        note("error: standard output is closed; nothing was done")
        note("hint: send it to /dev/null where it is not wanted")
        sys.exit(1)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="backslashreplace")
    if COMPLETE in os.environ:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(cli, {}, "xp", COMPLETE, os.environ[COMPLETE]))
    code = run(sys.argv[1:])
    gc.freeze()  # else Python would look through everything once more at its end, a tenth of `xp log`
    sys.exit(code)
