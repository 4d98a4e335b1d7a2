from __future__ import annotations

import asyncio
import threading

import pytest

from trainer.env_kit.aside import Aside


def test_it_is_done_though_all_other_threads_are_taken():
    async def work():
        loop = asyncio.get_running_loop()
        held = threading.Event()
        taken = [loop.run_in_executor(None, held.wait) for _ in range(40)]
        with Aside() as aside:
            found = await aside.call(divmod, 7, 2)
            with pytest.raises(ZeroDivisionError):
                await aside.call(divmod, 7, 0)
        held.set()
        await asyncio.gather(*taken)
        return found

    assert asyncio.run(work()) == (3, 1)


def test_it_ends_with_its_context():
    async def work():
        with Aside() as aside:
            await aside.call(str)
        with pytest.raises(RuntimeError):
            await aside.call(str)

    before = {*threading.enumerate()}
    asyncio.run(work())
    assert {*threading.enumerate()} <= before
