"""StreamingBatcher: items that come one by one are processed together; each caller gets its own answer.

A batch begins when as much is waiting as one batch may hold, when the oldest item has waited long enough,
when nothing else is on its way (switchable), and at the end. One batch runs at a time; what comes meanwhile
waits for the next one.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from trainer.errors import BatchError, ClosedError, ComponentError
from xpstore.errors import XpError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class BatchRules:
    """When a batch begins, and how often it is tried."""

    most: int = 8
    """The most that one batch holds, the sum of its items' sizes; an item above it is a batch by itself."""
    wait: float = 10.0
    """Seconds that an item waits at the longest while no batch runs."""
    when_idle: bool = True
    """Whether a batch begins as soon as nothing else is on its way, since nobody is left to wait for."""
    retries: int = 2
    """How often a batch that failed for a passing reason is tried again."""
    pause: float = 1.0
    """Seconds before the first of these; twice as long before each further one."""


@dataclass(eq=False, slots=True)
class _Waiting(Generic[T, R]):
    item: T
    size: int
    since: float
    answer: asyncio.Future[R]


class StreamingBatcher(Generic[T, R]):
    """Collects items of many tasks of one event loop and hands them to `process`, oldest first.

    `process` returns one answer per item, in order. A batch that fails for a reason that `is_transient` knows
    is tried again without those who have gone. Where another reason fails several items together, each is
    tried by itself: one bad item harms nobody else. Whoever still fails gets a BatchError of its own.
    """

    def __init__(
        self,
        process: Callable[[Sequence[T]], Awaitable[Sequence[R]]],
        rules: BatchRules,
        is_transient: Callable[[Exception], bool] = lambda _: False,
    ) -> None:
        self._process = process
        self._rules = rules
        self._is_transient = is_transient
        self._waiting: list[_Waiting[T, R]] = []
        self._coming = 0
        self._batch: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._done = asyncio.Event()

    def announce(self) -> Place[T, R]:
        """Announce an item that is being prepared, so that what is waiting waits for it too.

        It is to be left, or to submit, in any case. Raises ClosedError after `close`; a place that was taken
        before may still submit.
        """
        if self._closing:
            raise ClosedError("nothing is taken any more: it was closed", hint="open it again")
        self._coming += 1
        return Place(self._arrive, self._leave)

    @contextmanager
    def place(self) -> Iterator[Place[T, R]]:
        """Announce an item that is prepared during the block."""
        place = self.announce()
        try:
            yield place
        finally:
            place.leave()

    async def submit(self, item: T, size: int = 1) -> R | None:
        """Return the answer to an item; None at once for one without size. Raises BatchError, ClosedError.

        Who is cancelled before its batch begins is taken out of it.
        """
        with self.place() as place:
            return await place.submit(item, size)

    async def settled(self) -> None:
        """Wait for the batch that runs now, if one does: it goes on for who was cancelled, too."""
        if self._batch:
            await asyncio.wait([self._batch])

    async def close(self) -> None:
        """Take nothing new, process what is there or on its way, and return when all is answered."""
        self._closing = True
        self._look()
        await self._done.wait()

    async def _arrive(self, item: T, size: int) -> R:
        self._coming -= 1  # in one step with its arrival: nobody sees it nowhere
        loop = asyncio.get_running_loop()
        one: _Waiting[T, R] = _Waiting(item, size, loop.time(), loop.create_future())
        self._waiting.append(one)
        self._look()
        try:
            return await one.answer
        finally:
            if one in self._waiting:  # cancelled in time
                self._waiting.remove(one)
                self._look()

    def _leave(self) -> None:
        self._coming -= 1
        self._look()

    def _look(self) -> None:
        """Begin a batch if it is time to, else see to it that somebody looks again when it is."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._batch:
            return
        if not self._waiting:
            if self._closing and not self._coming:
                self._done.set()
            return
        loop = asyncio.get_running_loop()
        due = self._waiting[0].since + self._rules.wait
        if sum(one.size for one in self._waiting) >= self._rules.most or loop.time() >= due:
            self._begin()
            return
        self._timer = loop.call_at(due, self._begin)
        if not self._coming and (self._rules.when_idle or self._closing):
            loop.call_soon(self._begin_if_idle)  # after those who start at this very moment

    def _begin_if_idle(self) -> None:
        if not self._coming:
            self._begin()

    def _begin(self) -> None:
        if self._batch or not self._waiting:
            return
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._batch = asyncio.get_running_loop().create_task(self._run(self._take()))

    def _take(self) -> list[_Waiting[T, R]]:
        """Take the oldest items that fit into one batch, at least one."""
        count, size = 0, 0
        for one in self._waiting:
            size += one.size
            if count and size > self._rules.most:
                break
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch

    async def _run(self, batch: Sequence[_Waiting[T, R]]) -> None:
        task = asyncio.current_task()
        try:
            await self._settle(batch)
        except asyncio.CancelledError:
            if task and task.cancelling():  # the program ends
                _fail([*batch, *self._waiting], asyncio.CancelledError())
                self._waiting = []
                self._closing = True
                raise
            _fail(batch, asyncio.CancelledError())
        finally:
            self._batch = None
            self._look()

    async def _settle(self, batch: Sequence[_Waiting[T, R]]) -> None:
        """Answer every item of a batch that is still asked for."""
        failure = await self._try(batch)
        for attempt in range(self._rules.retries):
            if failure is None or not self._is_transient(failure):
                break
            await asyncio.sleep(self._rules.pause * 2**attempt)
            batch = [one for one in batch if not one.answer.done()]
            failure = await self._try(batch) if batch else None
        if failure is None:
            return
        if len(batch) == 1 or self._is_transient(failure):
            _fail(batch, failure)
            return
        for one in batch:
            await self._settle([one])

    async def _try(self, batch: Sequence[_Waiting[T, R]]) -> Exception | None:
        """Process a batch once and hand out the answers; return why that failed."""
        try:
            answers = await self._process([one.item for one in batch])
        except Exception as error:  # noqa: BLE001  # whatever it is, somebody waits for it
            return error
        if len(answers) != len(batch):
            return ComponentError(f"a batch of {len(batch)} items got {len(answers)} answers")
        for one, answer in zip(batch, answers, strict=True):
            if not one.answer.done():
                one.answer.set_result(answer)
        return None


class Place(Generic[T, R]):
    """Where an item will be submitted."""

    def __init__(self, arrive: Callable[[T, int], Awaitable[R]], leave: Callable[[], None]) -> None:
        self._arrive = arrive
        self._leave = leave
        self._is_coming = True

    async def submit(self, item: T, size: int = 1) -> R | None:
        """Submit the item as `StreamingBatcher.submit` does; the place is left."""
        if size <= 0:
            self.leave()
            return None
        self._is_coming = False
        return await self._arrive(item, size)

    def leave(self) -> None:
        """Say that nothing will come; nothing where something came."""
        if self._is_coming:
            self._is_coming = False
            self._leave()


def _fail(batch: Sequence[_Waiting[T, R]], why: BaseException) -> None:
    """Give everybody who still waits an error of its own: one object in several tasks mixes up tracebacks."""
    for one in batch:
        if not one.answer.done():
            error = BatchError(_words(why), hint=why.hint if isinstance(why, XpError) else "")
            error.__cause__ = why
            one.answer.set_exception(error)


def _words(why: BaseException) -> str:
    if isinstance(why, XpError):
        return why.message
    if isinstance(why, asyncio.CancelledError):
        return "the batch was cancelled while it was processed"
    return f"{type(why).__name__}: {why}"
