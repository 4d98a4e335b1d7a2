"""With a real cluster of two workers: `make ray`. Without Ray, this is skipped."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from pathlib import Path

import pytest

from tests.ray_work import dies, fails, waits
from trainer.errors import ComponentError
from xpstore.errors import RefusedError

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


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nobody_listens_is_told_at_once(scheme):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    async def main():
        async with door.Cluster(f"{scheme}127.0.0.1:{port}"):
            pass

    with pytest.raises(RefusedError, match=f"no cluster answers at {scheme}127.0.0.1:{port}"):
        asyncio.run(main())


def test_nothing_stays_of_a_cluster_whose_caller_went_while_it_was_made():
    async def main():
        entering = asyncio.ensure_future(door.Cluster(processors=1).__aenter__())
        await asyncio.to_thread(_there_are_servers)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering

    asyncio.run(main())
    assert not door.ray.is_initialized()
    assert servers() == []


def _there_are_servers() -> None:
    while not servers():
        time.sleep(0.01)


def servers() -> list[int]:
    """Return the processes of clusters that this one has made."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
        if parent == os.getpid() and words[0].endswith((b"gcs_server", b"raylet")):
            found.append(int(folder.name))
    return found
