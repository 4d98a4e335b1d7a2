from __future__ import annotations

import asyncio
import threading

import pytest

from tests.builders import make_store
from trainer.store_door import StoreDoor
from xpstore.errors import NotAStoreError


def test_everything_runs_in_one_thread_and_opens_the_store_once(tmp_path):
    make_store(tmp_path / "s")

    async def run():
        async with StoreDoor(tmp_path / "s") as door:
            return await asyncio.gather(
                *(door.call(lambda found: (threading.get_ident(), id(found))) for _ in range(5))
            )

    assert len(set(asyncio.run(run()))) == 1


def test_an_error_reaches_the_caller(tmp_path):
    async def run():
        async with StoreDoor(tmp_path) as door:
            await door.call(lambda found: found)

    with pytest.raises(NotAStoreError):
        asyncio.run(run())


def test_a_cancelled_caller_waits_for_the_write_that_is_under_way(tmp_path):
    make_store(tmp_path / "s")
    started, go, finished = threading.Event(), threading.Event(), []

    def write(_):
        started.set()
        assert go.wait(10)
        finished.append(True)

    async def run():
        async with StoreDoor(tmp_path / "s") as door:
            task = asyncio.create_task(door.call(write))
            await asyncio.to_thread(started.wait, 10)
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
            go.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert finished == [True]

    asyncio.run(run())
