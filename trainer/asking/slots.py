"""How many requests an endpoint is sent at the same time: fewer where it cannot keep up, more where it can.

As TCP finds out what a connection bears (RFC 5681), with the rate of answers as a second opinion. It begins
with a few and sends one more after every answer, up to the number that would all be answered in time at the
rate of late, even if they waited in line. Where a request that waited in line is not answered in time, or
where a 429 says that there were too many, half as many are sent from then on, and one more after ever more
answers; where its turn was near, one less. Requests that went out together lower the number once. Where the
endpoint says when to come back, nobody goes there before.

So a server that answers one question at a time gets a line in which none waits too long, one that answers
many at a time is sent all that the settings allow, and a question that hangs by itself slows nobody down.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.asking.turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AT_FIRST = 8
"""Requests at the same time before anything is known: a line that most servers bear."""
COUNTED = 16
"""Answers of late, from which the rate is taken."""
SAFE = 0.75
"""The part of the time allowed that a line may take."""
MOST_PATIENCE = 16
"""Times as many answers are waited for before one more is sent; it doubles with every time that failed."""

LEAST = 0.001
"""Seconds; a timer may be early by as much as a clock can tell apart."""


@dataclass(slots=True, eq=False)
class Slot:
    """The place of one request among those under way."""

    era: int
    """How often the number had been lowered when the request went out."""
    answers: int
    """How many answers there had been then."""
    beside: int = 1
    """The most requests that were under way at once while it was, itself included."""

    @property
    def is_alone(self) -> bool:
        """Whether no other request was under way: what becomes of this one, no other has caused."""
        return self.beside == 1


class Slots:
    """The slots of one run. May be shared by several threads."""

    def __init__(self, most: int, seconds: float) -> None:
        """`most` requests at the same time, each of which may take so many seconds."""
        self._most = most
        self._seconds = seconds
        self._limit = min(most, AT_FIRST)
        self._era = self._halved = self._credit = 0
        self._fewest: int | None = None
        self._count = 0
        self._late: deque[float] = deque(maxlen=COUNTED)
        self._begun = math.nan
        self._closed_until = -math.inf
        self._under_way: set[Slot] = set()
        self._turns = Turns(self._given, lambda _, slot: self._release(slot))

    @property
    def limit(self) -> int:
        """How many requests may be under way now."""
        with self._turns.lock:
            return self._limit

    @property
    def fewest(self) -> int | None:
        """The fewest that it was lowered to; None where it never was."""
        with self._turns.lock:
            return self._fewest

    @property
    def halvings(self) -> int:
        """How often the number can be halved from the most to one."""
        return self._most.bit_length() - 1

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Slot]:
        """Wait for a slot, in the order of asking; within it one request may be under way."""
        slot = await self._turns.wait(None)
        while (seconds := self._closed_until - _now()) > 0:
            self._release(slot)
            await asyncio.sleep(max(seconds, LEAST))
            slot = await self._turns.wait(None)
        try:
            yield slot
        finally:
            self._release(slot)

    def answered(self) -> None:
        """Say that a request was answered."""
        with self._turns.lock:
            self._late.append(_now())
            self._count += 1
            self._credit += 1
            wanted = self._limit * min(2**self._halved, MOST_PATIENCE) if self._era else 1
            if self._credit >= wanted and self._limit < min(self._most, int(self._bearable())):
                self._limit, self._credit = self._limit + 1, 0

    def close(self, seconds: float) -> None:
        """Let no request out for so long; those that are under way go on."""
        with self._turns.lock:
            self._closed_until = max(self._closed_until, _now() + seconds)

    def turned_away(self, slot: Slot) -> bool:
        """Say that the endpoint had no room for a request. Return whether fewer at once may help."""
        with self._turns.lock:
            return self._lowered(slot)

    def timed_out(self, slot: Slot) -> bool:
        """Say that a request was not answered in time. Return whether fewer at once may help.

        They may not where it was alone, or where so many were answered meanwhile that, in a line, its turn
        would have come.
        """
        with self._turns.lock:
            meanwhile = self._count - slot.answers
            if meanwhile >= slot.beside:
                return False
            return self._lowered(slot, by=1 if meanwhile >= SAFE * slot.beside else None)

    def _bearable(self) -> float:
        """Return how many requests in a line would all be answered in time, at the rate of late."""
        count, since = len(self._late), self._begun
        if count == COUNTED:
            count, since = COUNTED - 1, self._late[0]
        return SAFE * self._seconds * count / max(_now() - since, 1e-9)

    def _lowered(self, slot: Slot, by: int | None = None) -> bool:
        """Lower the number by so many, or by half, unless it was since the request went out."""
        if slot.is_alone:
            return False
        if slot.era == self._era:
            under_way = min(self._limit, slot.beside)
            self._limit = max(1, under_way - by if by else under_way // 2)
            self._fewest = min(self._fewest or self._limit, self._limit)
            self._era, self._credit = self._era + 1, 0
            self._halved += not by
        return True

    def _given(self, _: None) -> Slot | None:
        if len(self._under_way) >= self._limit:
            return None
        if math.isnan(self._begun):
            self._begun = _now()
        self._under_way.add(slot := Slot(self._era, self._count))
        for other in self._under_way:
            other.beside = max(other.beside, len(self._under_way))
        return slot

    def _release(self, slot: Slot) -> None:
        with self._turns.lock:
            self._under_way.remove(slot)
            self._turns.go_on()


def _now() -> float:
    return asyncio.get_running_loop().time()
