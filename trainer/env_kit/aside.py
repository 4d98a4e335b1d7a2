"""Threads of the service's own: those that runtimes work in may all be taken, and for long."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

T = TypeVar("T")
THREADS = 4


class Aside:
    """Does what would block the event loop; use it as a context."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="xp-env")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()

    async def call(self, work: Callable[..., T], *values: object) -> T:
        """Return what `work` returns. Where the caller is cancelled, it is done all the same."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *values)
