"""Forks an `xp serve` whenever it is told to, all it needs being loaded: `python -m tests.serve_forks`.

A line of JSON a command: {"serve": [arguments of xp], "fickle": bool}, {"kill": pid}, {"end": pid} (SIGTERM).
A forked one writes its pid, then what xp writes. Only so is it cheap to start a service many times.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import signal
import sys
import threading

import trainer.assembly
import trainer.service.app
import trainer.service.sessions
import trainer.web.run  # loaded before it is forked
from tests.fickle import Fickle
from tests.trainer.doubles import NoteTaker
from trainer.domain import Case, Rubric
from trainer.service.case_finding import ExtractedCase, FoundCases
from xpstore.cli.main import run

HANGS = 120
"""Seconds after which a service that does not answer yet is taken to hang."""


class FickleFinder:
    """Finds another case whenever it is asked."""

    async def find(self, spoken, about):
        await asyncio.sleep(0)
        name = f"page-{os.urandom(1)[0] % 3}"
        case = Case(name=name, task_signature=f"{os.urandom(4).hex()} {about}", rubric=Rubric(name=name))
        return FoundCases(cases=(ExtractedCase(case=case, evaluation=spoken.outcome),))


def serve(args: list[str], *, fickle: bool) -> None:
    """Be an xp serve; never return."""
    if fickle:
        trainer.assembly.OfflineExtractor = NoteTaker
        trainer.assembly.OfflineEditor = Fickle
        trainer.service.sessions.OfflineCaseFinder = FickleFinder
    os.fsync = os.fstat  # nobody here can see a power cut
    sys.stdin.close()
    watch_start()
    code = 70
    try:
        code = run(args)
    finally:
        sys.stdout.write(f"ended {code}\n")  # whoever waits for an address waits no longer
        sys.stdout.flush()
        os._exit(code)


def watch_start() -> None:
    """Let a service that hangs before it is there say where, and end: somebody waits for its first line."""

    def end() -> None:
        faulthandler.dump_traceback(all_threads=True)
        sys.stdout.write("ended 71, it hung\n")
        sys.stdout.flush()
        os._exit(71)

    def told(listener) -> str:
        timer.cancel()
        return url_of(listener)

    timer = threading.Timer(HANGS, end)
    timer.daemon = True
    timer.start()
    url_of, trainer.web.run.url_of = trainer.web.run.url_of, told


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        command = json.loads(line)
        if "serve" in command:
            pid = os.fork()
            if not pid:
                sys.stdout.write(f"{os.getpid()}\n")
                sys.stdout.flush()
                signal.signal(signal.SIGINT, signal.default_int_handler)
                serve(command["serve"], fickle=command["fickle"])
            continue
        pid = command.get("kill") or command["end"]
        os.kill(pid, signal.SIGKILL if "kill" in command else signal.SIGTERM)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.stdout.write(f"code {code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
