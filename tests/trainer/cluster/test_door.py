"""With a real cluster of two workers: `make ray`. Without Ray, this is skipped."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.ray_work import dies, fails, waits
from trainer.errors import ComponentError

door = pytest.importorskip("trainer.cluster.door", reason="Ray is not installed: make ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


def on_cluster(work):
    async def main():
        async with door.Cluster(processors=2) as cluster:
            return await work(cluster)

    return asyncio.run(main())


async def answers(cluster, tmp_path):
    """Lost once, lost twice, a defect, and a caller who does not wait."""
    for name in ("once", "twice", "long"):
        (tmp_path / name).mkdir()
    assert await cluster.call(dies, str(tmp_path / "once"), 1) == "2"
    with pytest.raises(ComponentError, match="the worker was lost, and so was the one that tried again"):
        await cluster.call(dies, str(tmp_path / "twice"), 9)
    assert (tmp_path / "twice" / "tries").read_text() == "xx"
    with pytest.raises(ComponentError, match="ZeroDivisionError: by zero"):
        await cluster.call(fails)
    task = asyncio.create_task(cluster.call(waits, str(tmp_path / "long")))
    process = await asyncio.to_thread(_there, tmp_path / "long" / "there")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(_gone, process)


def _there(file: Path) -> int:
    while not (file.exists() and file.read_text()):
        time.sleep(0.01)
    return int(file.read_text())


def _gone(process: int) -> None:
    """Wait until a process has ended: the cluster ends it."""
    while Path(f"/proc/{process}").exists():
        os.sched_yield()


def test_a_lost_worker_is_replaced_once_and_a_cancelled_one_ends(tmp_path):
    on_cluster(lambda cluster: answers(cluster, tmp_path))
