"""Work for a real cluster: workers import it by its name."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from trainer.cluster.work import Answer


def dies(folder: str, times: int) -> Answer:
    """Kill the worker, so many times; then answer how often it was tried."""
    tries = Path(folder, "tries")
    count = len(tries.read_text()) if tries.exists() else 0
    tries.write_text("x" * (count + 1))
    if count < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return Answer(str(count + 1))


def waits(folder: str) -> Answer:
    """Say that it is there, and wait for an end that does not come."""
    Path(folder, "there").write_text(str(os.getpid()))
    signal.pause()
    return Answer("")


def fails() -> Answer:
    """Meet a defect."""
    raise ZeroDivisionError("by zero")
