"""The share of the rollouts that one run studies, so that memory and time stay bounded.

Rollouts are taken in the order of their ids, which are hashes: a fair sample, and the same one in whatever
order, files and batches they came.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer.domain import Rollout

ROLLOUTS = 1_000
"""As many rollouts are studied at once; the learner holds a verdict of each candidate on each."""
BYTES = 10 << 20
"""As many bytes of JSON are studied at once; the learner needs about forty times as much."""


def share_of(sizes: Mapping[str, int], rollouts: int = ROLLOUTS, size: int = BYTES) -> frozenset[str]:
    """Return the ids that are studied, given rollout id → bytes of its JSON."""
    kept: list[str] = []
    for rollout_id in sorted(sizes):
        size -= sizes[rollout_id]
        if size < 0 or len(kept) == rollouts:
            break
        kept.append(rollout_id)
    return frozenset(kept)


class Share:
    """Collects `share_of` a stream and drops the rest at once."""

    def __init__(self, rollouts: int = ROLLOUTS, size: int = BYTES) -> None:
        self._most = rollouts
        self._room = size
        self._kept: list[tuple[int, int, Rollout]] = []
        self._end = 1 << 256  # nothing from here on is studied, whatever still comes

    def offer(self, rollout: Rollout, size: int) -> None:
        """Take a rollout whose JSON has `size` bytes, and give up the last ones where there are too many."""
        number = int(rollout.id, 16)
        if number >= self._end:
            return
        heappush(self._kept, (-number, size, rollout))
        self._room -= size
        while self._room < 0 or len(self._kept) > self._most:
            last, freed, _ = heappop(self._kept)
            self._room += freed
            self._end = -last

    @property
    def rollouts(self) -> list[Rollout]:
        """What is studied, by id."""
        return [rollout for _, _, rollout in sorted(self._kept, key=lambda row: -row[0])]
