"""The service of a benchmark as a process of its own, in the Python that has the benchmark."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from xpstore.errors import XpError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

START = 180.0
"""Seconds that a service may take to say where it is: what it imports is large."""
STOP = 15.0
TAIL = 2_000
CHUNK = 65_536
ERROR = "error: "
PROGRAM = """
import os, signal, threading

def watch():
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=watch, daemon=True).start()
from xpstore.cli.main import main
main()
"""
"""`xp` in another Python, until its standard input ends: whoever started it may be killed."""


@asynccontextmanager
async def running(python: str, arguments: Sequence[str], log: Path) -> AsyncIterator[str]:
    """Start `xp` with these arguments in a Python; yield the address that it writes as {"url": …}.

    It is told to stop when the context ends, and stops when this process does. What it says goes to `log`.
    Raises XpError where it does not start.
    """
    with log.open("ab") as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                *(python, "-c", PROGRAM, *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        except OSError as error:
            raise XpError(
                f"cannot start {python}: {error.strerror or error}",
                hint="--python names a Python that has the benchmark",
            ) from error
    try:
        url = await _address(process, log)
        keeping = asyncio.create_task(_keep(process, log))
        try:
            yield url
        finally:
            keeping.cancel()
    finally:
        await _end(process)


async def _address(process: asyncio.subprocess.Process, log: Path) -> str:
    line = b""
    with suppress(TimeoutError):
        async with asyncio.timeout(START):
            line = await process.stdout.readline() if process.stdout else b""
    try:
        value = json.loads(line)
        return str(value["url"])
    except (ValueError, KeyError, TypeError):
        raise XpError(
            f"the service has not started: {_last_line(log)}", hint=f"all that it said is in {log}"
        ) from None


async def _keep(process: asyncio.subprocess.Process, log: Path) -> None:
    """Keep what libraries print in the service: a pipe that nobody reads would stop it."""
    with log.open("ab") as kept:
        while process.stdout and (said := await process.stdout.read(CHUNK)):
            kept.write(said)


def _last_line(log: Path) -> str:
    """Return the error that a service has ended with; its last line, where it has named none."""
    lines = log.read_text("utf-8", "replace")[-TAIL:].strip().splitlines() or ["it said nothing"]
    errors = [line.removeprefix(ERROR) for line in lines if line.startswith(ERROR)]
    return errors[-1] if errors else lines[-1]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let the service end; end it where it does not."""
    if process.stdin:
        process.stdin.close()
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
