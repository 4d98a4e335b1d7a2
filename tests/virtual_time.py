"""An event loop whose clock stands still while anything is to be done, and jumps where all wait."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import Coroutine


class _Selector(selectors.DefaultSelector):
    """Waits for nothing: the time that it was to wait has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += max(timeout or 0.0, 0.0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run(work: Coroutine[object, object, T]) -> tuple[T, float]:
    """Return what the work returns, and how many seconds it would have taken."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        found = runner.run(work)
        return found, runner.get_loop().time()
