"""A queue of those that wait for their turn, in the event loops of several threads."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Asked = TypeVar("Asked")
Given = TypeVar("Given")


@dataclass(slots=True, eq=False)
class _Waiting(Generic[Asked, Given]):
    asked: Asked
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[Given]
    given: Given | None = None
    """None = its turn has not come."""


class Turns(Generic[Asked, Given]):
    """Gives turns in the order of asking. What is shared with its owner is guarded by `lock`."""

    def __init__(
        self, decide: Callable[[Asked], Given | None], give_back: Callable[[Asked, Given], None]
    ) -> None:
        """`decide` says what the one in front gets, or None: not yet. The lock is held then.

        `give_back` gets what was given to somebody who has gone away meanwhile. The lock is not held then.
        """
        self.lock = threading.Lock()
        self._decide = decide
        self._give_back = give_back
        self._queue: deque[_Waiting[Asked, Given]] = deque()

    async def wait(self, asked: Asked) -> Given:
        """Return what was decided once the turn has come."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting[Asked, Given](asked, loop, loop.create_future())
        with self.lock:
            self._queue.append(waiting)
            self.go_on()
        try:
            return await waiting.turn
        except asyncio.CancelledError:
            with self.lock:
                if waiting.given is None:
                    self._queue.remove(waiting)
                    self.go_on()
            if waiting.given is not None:
                self._give_back(asked, waiting.given)
            raise

    def go_on(self) -> None:
        """Give their turn to those in front that may have it. The lock is held."""
        while self._queue:
            waiting = self._queue[0]
            given = self._decide(waiting.asked)
            if given is None:
                return
            self._queue.popleft()
            waiting.given = given
            waiting.loop.call_soon_threadsafe(_tell, waiting.turn, given)


def _tell(turn: asyncio.Future[Given], given: Given) -> None:
    if not turn.done():
        turn.set_result(given)
