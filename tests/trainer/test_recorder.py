from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import rollout
from trainer.journal import NoJournal
from trainer.recorder import Recorder


class SlowJournal(NoJournal):
    """Writes only when it is let."""

    def __init__(self):
        self.written: list[list[int]] = []
        self.may_write = asyncio.Semaphore(0)

    async def record(self, rollouts):
        await self.may_write.acquire()
        if any(r.case.name == "broken" for r in rollouts):
            raise OSError("disk full")
        self.written.append([r.metadata["trial"] for r in rollouts])


def test_what_waits_together_is_written_together_and_is_durable_before_put_returns():
    async def run():
        journal = SlowJournal()
        recorder = Recorder(journal)
        tasks = [asyncio.create_task(recorder.put(rollout(trial=n))) for n in range(5)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)
        journal.may_write.release()
        await tasks[0]
        assert journal.written == [[0]]
        journal.may_write.release()
        await asyncio.gather(*tasks)
        assert journal.written == [[0], [1, 2, 3, 4]]

    asyncio.run(run())


def test_a_write_that_fails_is_heard():
    async def run():
        journal = SlowJournal()
        journal.may_write.release()
        with pytest.raises(OSError, match="disk full"):
            await Recorder(journal).put(rollout("broken"))

    asyncio.run(run())
