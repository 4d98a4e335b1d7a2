from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.asking.turns import Turns


class Room:
    """Turns for so many at once; what does not fit at all is told so."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = 0
        self.turns: Turns[int, bool] = Turns(self._decide, self._back)

    def _decide(self, wanted: int) -> bool | None:
        if wanted > self.room:
            return False
        if self.taken + wanted > self.room:
            return None
        self.taken += wanted
        return True

    def _back(self, wanted: int, given: bool) -> None:  # noqa: FBT001  # what was decided
        if given:
            self.leave(wanted)

    def leave(self, wanted: int) -> None:
        with self.turns.lock:
            self.taken -= wanted
            self.turns.go_on()

    async def stay(self, wanted: int, turns: int) -> bool:
        is_in = await self.turns.wait(wanted)
        if is_in:
            try:
                for _ in range(turns):
                    await asyncio.sleep(0)
            finally:
                self.leave(wanted)
        return is_in


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3), st.booleans()), max_size=12))
def test_whoever_goes_away_leaves_the_room_as_it_was(guests):
    room = Room(4)

    async def run() -> None:
        tasks = []
        for wanted, turns, is_cancelled in guests:
            tasks.append(asyncio.create_task(room.stay(wanted, turns)))
            for _ in range(turns):
                await asyncio.sleep(0)
            if is_cancelled:
                tasks[-1].cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        for (wanted, _, is_cancelled), end in zip(guests, ends, strict=True):
            assert end is (wanted <= 4) or (is_cancelled and isinstance(end, asyncio.CancelledError))
        assert room.taken == 0
        assert await room.stay(4, 0)

    asyncio.run(run())


@pytest.mark.parametrize("threads", [4])
def test_several_threads_wait_in_one_line(threads):
    room, ends = Room(2), []

    def guest() -> None:
        async def several() -> list[bool]:
            return await asyncio.gather(*(room.stay(1, 3) for _ in range(5)))

        ends.extend(asyncio.run(several()))

    started = [threading.Thread(target=guest) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert ends == [True] * 5 * threads
    assert room.taken == 0
