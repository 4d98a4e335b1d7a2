"""The scores of the cases at the states of a search: those on record, and those that it adds.

Whatever was measured under the same agent and code counts, under any suite and number of trials; a seed that
was run twice on the same experiences counts once, the last time. The search draws seeds of its own for every
tree of experiences: it reckons with independent trials. A confirmation has the same ones on both sides.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count, takewhile
from typing import TYPE_CHECKING

from trainer.trials import seed_of
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from trainer.bisect.model import Counts
    from xpstore.evaluation import EvaluationRecord

_BASE_DIGITS = 12


class Scores:
    """Scores by tree of experiences, case and seed."""

    def __init__(self, trees: Sequence[str], cases: Sequence[str], seed: int) -> None:
        self._trees = trees
        self._cases = cases
        self._seed = seed
        self._passed: dict[tuple[str, str], dict[int, bool]] = defaultdict(dict)
        self._used: dict[str, set[int]] = defaultdict(set)

    def add(self, record: EvaluationRecord) -> None:
        """Take up what a record says of these cases."""
        tree = record.key.experiences
        self._used[tree] |= set(record.key.seeds)
        for result in record.results:
            if result.case in self._cases:
                self._passed[tree, result.case][result.seed] = result.passed

    def __len__(self) -> int:
        return sum(map(len, self._passed.values()))

    @property
    def counts(self) -> tuple[Counts, ...]:
        """The scores of each case, as `model` reads them."""
        return tuple(tuple(self._counted(case)) for case in self._cases)

    def _counted(self, case: str) -> Iterator[tuple[int, int, int]]:
        for state, tree in enumerate(self._trees):
            if found := self._passed.get((tree, case)):
                won = sum(found.values())
                yield state, won, len(found) - won

    def seeds(self, states: Sequence[int], trials: int) -> tuple[int, tuple[int, ...]]:
        """Return number and seeds of trials that are free at a state, or at both of a pair."""
        trees = [self._trees[state] for state in states]
        first = next(n for n in count() if not self._is_used(trees, n))
        return first, tuple(self._draw(trees, number) for number in range(first, first + trials))

    def pairs(self, states: Iterable[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, int]]:
        """Return the confirmations so far: state before and state after → pairs that only one side passed."""
        found = {pair: self._pair(pair) for pair in states}
        return {pair: won for pair, won in found.items() if won is not None}

    def _pair(self, states: tuple[int, int]) -> tuple[int, int] | None:
        trees = [self._trees[state] for state in states]
        seeds = [self._draw(trees, n) for n in takewhile(lambda n: self._is_used(trees, n), count())]
        outcomes = [
            [self._passed.get((tree, case), {}).get(seed) for tree in trees]
            for seed in seeds
            for case in self._cases
        ]
        return (outcomes.count([True, False]), outcomes.count([False, True])) if seeds else None

    def _is_used(self, trees: Sequence[str], number: int) -> bool:
        seed = self._draw(trees, number)
        return any(seed in self._used[tree] for tree in trees)

    def _draw(self, trees: Sequence[str], number: int) -> int:
        base = int(content_id(["bisect", self._seed, *trees])[:_BASE_DIGITS], 16)
        return seed_of(base, number, training=False)
