"""StoreDoor: the trainer's one way to a store. One worker thread, one repository object."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, TypeVar

from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

T = TypeVar("T")


class StoreDoor:
    """Runs functions on a store's location, one after the other, off the event loop.

    libgit2's objects are not shared between threads, so the location is opened in the worker and stays there.
    """

    def __init__(self, path: Path, store: str | None = None) -> None:
        self._path = path
        self._store = store
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="xpstore")
        self._location: Location | None = None

    async def call(self, function: Callable[[Location], T]) -> T:
        """Return `function(location)`. A cancelled caller waits for it to end: a write is whole or absent."""
        future = self._worker.submit(lambda: function(self._open()))
        waiter = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiter)
        except asyncio.CancelledError:
            if not future.cancel():
                await asyncio.wait([waiter])
                if not waiter.cancelled():
                    waiter.exception()  # seen: the cancellation is what the caller hears of
            raise

    def close(self) -> None:
        """Wait for what is running and end the worker. Idempotent."""
        self._worker.shutdown(wait=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _open(self) -> Location:
        if self._location is None:
            self._location = Location.find(self._path, self._store)
        return self._location
