"""How many requests an endpoint is sent at the same time: fewer where it cannot keep up, more where it can.

As TCP finds out what a line bears (RFC 5681). It begins with a few and sends one more after every quick
answer. Where requests have no answer in time and the others are slow too, or a 429 names no time, half as
many are sent from then on, and one more after as many answers as there are requests at once. Requests that
went out together lower the number once. So a server that answers one question at a time gets a queue in which
none waits too long, and one that answers many at a time is sent all that the settings allow.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.asking.turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AT_FIRST = 8
"""Requests at the same time before anything is known: a queue that most servers bear."""
SLOW = 4
"""Answers that were not quick count so much less: they say that there is little room."""
MOST_PATIENCE = 16
"""Times as many answers are waited for before one more is sent; it doubles with every time that failed."""


@dataclass(slots=True, eq=False)
class Slot:
    """The place of one request among those under way."""

    era: int
    """How often the number had been lowered when the request went out."""
    quick: int
    slow: int
    """How many quick and slow answers there had been then."""
    beside: int = 1
    """The most requests that were under way at once while it was, itself included."""

    @property
    def is_alone(self) -> bool:
        """Whether no other request was under way: what becomes of this one, no other has caused."""
        return self.beside == 1


class Slots:
    """The slots of one run. May be shared by several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = min(most, AT_FIRST)
        self._era = 0
        self._quick = self._slow = self._credit = 0
        self._fewest: int | None = None
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
        try:
            yield slot
        finally:
            self._release(slot)

    def answered(self, *, quickly: bool) -> None:
        """Say that a request was answered; `quickly` = in a small part of the time that it was allowed."""
        with self._turns.lock:
            self._quick, self._slow = self._quick + quickly, self._slow + (not quickly)
            self._credit += SLOW if quickly else 1
            is_first_climb = quickly and not self._era
            enough = SLOW * self._limit * min(2**self._era, MOST_PATIENCE)
            if self._limit < self._most and (is_first_climb or self._credit >= enough):
                self._limit, self._credit = self._limit + 1, 0

    def turned_away(self, slot: Slot) -> bool:
        """Say that the endpoint had no room for a request. Return whether fewer at once may help."""
        with self._turns.lock:
            return self._lowered(slot)

    def timed_out(self, slot: Slot) -> bool:
        """Say that a request was not answered in time. Return whether fewer at once may help.

        They may not where the request was alone, or most answers to the others came quickly meanwhile.
        """
        with self._turns.lock:
            is_own = self._quick - slot.quick > self._slow - slot.slow
            return not is_own and self._lowered(slot)

    def _lowered(self, slot: Slot) -> bool:
        if slot.is_alone:
            return False
        if slot.era == self._era:
            self._limit = max(1, min(self._limit, slot.beside) // 2)
            self._fewest = min(self._fewest or self._limit, self._limit)
            self._era, self._credit = self._era + 1, 0
        return True

    def _given(self, _: None) -> Slot | None:
        if len(self._under_way) >= self._limit:
            return None
        self._under_way.add(slot := Slot(self._era, self._quick, self._slow))
        for other in self._under_way:
            other.beside = max(other.beside, len(self._under_way))
        return slot

    def _release(self, slot: Slot) -> None:
        with self._turns.lock:
            self._under_way.remove(slot)
            self._turns.go_on()
