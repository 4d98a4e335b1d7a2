"""Processes that begin at the same moment, for the tests and benchmarks of concurrency.

Each is forked, so starting one costs next to nothing. What it reports is a line of JSON in a file of its own,
whole as soon as `report` returns: a process that is killed has reported what it had done.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import traceback
from contextlib import contextmanager
from select import select
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Row = dict[str, object]


class Member(Protocol):
    """What a process does; it calls `ready` when it can begin, which waits for the others."""

    def __call__(self, ready: Callable[[], None], report: Callable[..., None]) -> None: ...


class Crowd:
    """Some processes; `folder` keeps what they report."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._pids: dict[str, int] = {}
        self._go = os.pipe()
        self._ready = os.pipe()

    def add(self, name: str, work: Member) -> None:
        pid = os.fork()
        if pid:
            self._pids[name] = pid
            return
        os.close(self._go[1])
        code = 1
        try:
            with (self._folder / f"{name}.jsonl").open("a", buffering=1) as stream:
                work(self._wait, lambda **row: _print(stream, row))
            code = 0
        except BaseException:  # the whole process is this function: it says why it ends
            (self._folder / f"{name}.error").write_text(traceback.format_exc())
            raise
        finally:
            os._exit(code)

    def _wait(self) -> None:
        os.write(self._ready[1], b".")
        os.read(self._go[0], 1)  # it ends when the one who can write has closed it

    def go(self) -> None:
        """Let all of them begin, as soon as all of them can."""
        missing = len(self._pids)
        while missing:
            missing -= len(os.read(self._ready[0], missing))
        os.close(self._go[1])

    def kill(self, name: str) -> None:
        os.kill(self._pids[name], signal.SIGKILL)

    def wait(self) -> dict[str, list[Row]]:
        """Return what everybody has reported; fails with the traceback of one that failed."""
        codes = {n: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for n, pid in self._pids.items()}
        for handle in (self._go[0], *self._ready):
            os.close(handle)
        for name, code in codes.items():
            error = self._folder / f"{name}.error"
            assert code in {0, -signal.SIGKILL}, f"{name}: {error.read_text() if error.exists() else code}"
        return {name: self.reported(name) for name in codes}

    def reported(self, name: str) -> list[Row]:
        """Return what one of them has reported so far."""
        text = (self._folder / f"{name}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def run(folder: Path, members: dict[str, Member]) -> dict[str, list[Row]]:
    """Let these begin together, and return what they have reported at the end."""
    crowd = Crowd(folder)
    for name, work in members.items():
        crowd.add(name, work)
    crowd.go()
    return crowd.wait()


@contextmanager
def meanwhile(*works: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
    """Run these during the block, each in a process of its own; it ends when what it is given says False."""
    read_end, write_end = os.pipe()
    pids = []
    for work in works:
        pid = os.fork()
        if pid == 0:
            os.close(write_end)
            code = 1
            try:
                work(lambda: not select([read_end], [], [], 0)[0])
                code = 0
            except BaseException:
                traceback.print_exc()
                raise
            finally:
                os._exit(code)
        pids.append(pid)
    os.close(read_end)
    try:
        yield
    finally:
        os.close(write_end)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    assert not any(codes), codes


def _print(stream: object, row: Row) -> None:
    stream.write(json.dumps(row) + "\n")  # type: ignore[attr-defined]


def quietly(where: Path, *args: str) -> int:
    """Run git, whatever it says, and return its exit code."""
    return subprocess.run(["git", *args], cwd=where, check=False, capture_output=True).returncode
