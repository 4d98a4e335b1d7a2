"""An event loop whose clock moves on at once when nothing is left to do but to wait: hours take no time."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    """Waits for nothing: the loop's clock is moved instead."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits for everybody: nothing will ever happen here")
        if not ready and timeout:
            self.passed += timeout
        return ready


class VirtualClock(asyncio.SelectorEventLoop):
    """The loop; work in threads is not seen as something to wait for."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.passed


def run(work: Coroutine[object, object, T]) -> T:
    """Run this on a clock of its own that begins with 0."""
    with asyncio.Runner(loop_factory=VirtualClock) as runner:
        return runner.run(work)
