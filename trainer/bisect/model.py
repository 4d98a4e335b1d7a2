"""What the scores say of which suspect broke which cases. Pure; no commits, no names.

States are numbered along the history from 0, the good end; suspect h turned state h-1 into state h. Suspect
h is the culprit when some cases pass less often in the states from h on than in those before:

    a case is affected with probability q; q is 0 or one of three shares, see `shares`
    an unaffected case has one pass rate, uniform
    an affected one has two, uniform among those where it falls by at least SMALLEST

Counts are binomial, so this is the Beta(1, 1)-Bernoulli model, with the integrals over pass rates taken as
sums over twenty rates: unlike a closed form, that allows for the fall. No affected case = no difference.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from math import exp, inf, log, log2
from operator import mul
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Counts: TypeAlias = "tuple[tuple[int, int, int], ...]"
"""The scores of a case: (state, passed, failed), by state; states without any are left out."""
RATES = tuple((n + 0.5) / 20 for n in range(20))
STEPS = 3
SMALLEST = STEPS * (RATES[1] - RATES[0])
"""The smallest fall of a pass rate that is looked for."""
_LOGS = tuple((log(rate), log(1 - rate)) for rate in RATES)
_PAIRS = sum(range(1, len(RATES) - STEPS + 1))
_LARGEST = 600.0  # exp of much more is no float
SAME = 0.1
"""The chance, before anything is known, that no case is affected; the shares add to it."""


@dataclass(frozen=True, slots=True)
class Split:
    """A case under one split of its scores into those before and those after the fall."""

    ratio: float
    """How much likelier the scores are if the case is affected than if not; the logarithm."""
    before: float
    """The pass rate to expect before the fall, if it is affected; `after` likewise."""
    after: float

    def mixed(self, share: float) -> float:
        """Return the log of that ratio where the case is affected with probability `share`."""
        if self.ratio > _LARGEST and share:
            return log(share) + self.ratio
        return log(1 - share + share * exp(min(_LARGEST, self.ratio)))

    def affected(self, share: float) -> float:
        """Return the probability after the scores that it is affected; `share` is the one before."""
        return share and exp(log(share) + self.ratio - self.mixed(share))


@dataclass(frozen=True, slots=True)
class Table:
    """A case under every suspect."""

    states: tuple[int, ...]
    """Those with scores; suspect h is judged by the split at the number of them below h."""
    splits: tuple[Split, ...]
    same: float
    """The pass rate to expect if it is not affected."""

    def split(self, suspect: int) -> Split:
        """Return how the case looks if the suspect is the culprit."""
        return self.splits[bisect_left(self.states, suspect)]


@lru_cache(maxsize=4096)
def table(counts: Counts) -> Table:
    """Return what the scores of one case say."""
    before, after = (0, 0), (sum(c[1] for c in counts), sum(c[2] for c in counts))
    whole, scale = _likelihoods(*after)
    total = sum(whole)
    unaffected = log(total / len(RATES)) + scale
    splits = [_split(before, after, unaffected)]
    for _, passed, failed in counts:
        before = before[0] + passed, before[1] + failed
        after = after[0] - passed, after[1] - failed
        splits.append(_split(before, after, unaffected))
    same = sum(map(mul, whole, RATES)) / total
    return Table(tuple(c[0] for c in counts), tuple(splits), same)


def shares(cases: int) -> list[tuple[float, float]]:
    """Return the shares of affected cases that are reckoned with, each with its weight; they sum to 1.

    The smallest leaves a chance of one in ten that none of the cases is affected.
    """
    least = 1 - 0.1 ** (1 / cases)
    found = [least, max(least, 0.2), max(least, 0.5)]
    return [(0.0, SAME), *((share, (1 - SAME) / len(found)) for share in found)]


@dataclass(frozen=True)
class Posterior:
    """What is believed after the scores."""

    prior: tuple[float, ...]
    """Suspect 1, 2, …: its probability before the scores, above 0; they sum to 1."""
    cases: tuple[Counts, ...]

    @property
    def last(self) -> int:
        """The number of the bad end's state, and of the last suspect."""
        return len(self.prior)

    @cached_property
    def _shares(self) -> list[tuple[float, float]]:
        return shares(len(self.cases))

    @cached_property
    def _logs(self) -> list[list[float]]:
        """Suspect and share → log of prior and likelihood ratio against no difference."""
        terms = [
            (found.states, [[n * s.mixed(q) for q, _ in self._shares] for s in found.splits])
            for counts, n in Counter(self.cases).items()  # cases with equal scores are alike
            if (found := table(counts)).states
        ]
        logs = []
        for suspect, before in enumerate(self.prior, 1):
            rows = [rows[bisect_left(states, suspect)] for states, rows in terms]
            sums = [sum(column) for column in zip(*rows, strict=True)] or [0.0] * len(self._shares)
            logs.append([log(before * w) + x for (_, w), x in zip(self._shares, sums, strict=True)])
        return logs

    @cached_property
    def _weights(self) -> list[list[float]]:
        """Suspect and share → probability."""
        most = max(map(max, self._logs))
        found = [[exp(value - most) for value in row] for row in self._logs]
        total = sum(map(sum, found))
        return [[value / total for value in row] for row in found]

    @cached_property
    def same(self) -> float:
        """The probability that no case is affected: there is no difference."""
        return sum(self._same_by_suspect)

    @cached_property
    def _same_by_suspect(self) -> list[float]:
        none = sum(weight * (1 - q) ** len(self.cases) for q, weight in self._shares)
        unit = self._weights[0][0] / (self.prior[0] * SAME)  # the first share is 0: its likelihood ratio is 1
        return [before * none * unit for before in self.prior]

    @cached_property
    def suspects(self) -> list[float]:
        """Suspect 1, 2, … → the probability that it broke some case; with `same` they sum to 1."""
        pairs = zip(self._weights, self._same_by_suspect, strict=True)
        return [max(0.0, sum(row) - same) for row, same in pairs]

    def affected(self, counts: Counts) -> list[float]:
        """Suspect 1, 2, … → the probability that it broke a case with these scores."""
        found = table(counts)
        rows = [[s.affected(q) for q, _ in self._shares] for s in found.splits]
        by_suspect = ((row, rows[bisect_left(found.states, n)]) for n, row in enumerate(self._weights, 1))
        return [sum(map(mul, row, shares_)) for row, shares_ in by_suspect]

    def bits_on_suspects(self, counts: Counts) -> list[float]:
        """State 0, 1, … → bits that one more trial there of a case with these scores tells of the culprit.

        That is the mutual information of outcome and suspect.
        """
        found, totals = table(counts), [sum(row) for row in self._weights]
        before, after = [], []
        for number, (total, both) in enumerate(zip(totals, self.affected(counts), strict=True), 1):
            split, chance = found.split(number), both / total if total else 0.0
            before.append(found.same + chance * (split.before - found.same))
            after.append(found.same + chance * (split.after - found.same))
        sums = [_cumulated(map(mul, totals, values)) for values in (after, before)]
        noise = [_cumulated(map(mul, totals, map(entropy, values))) for values in (after, before)]
        return [
            max(
                0.0,
                entropy(sums[0][n] + sums[1][-1] - sums[1][n]) - (noise[0][n] + noise[1][-1] - noise[1][n]),
            )
            for n in range(self.last + 1)
        ]

    def bits_on_case(self, counts: Counts, *, good: bool) -> float:
        """Return the bits that one more trial at an end tells of whether such a case is affected."""
        found, affected = table(counts), self.affected(counts)
        share = sum(affected)
        if not 0 < share < 1:
            return 0.0
        splits = [found.split(number) for number in range(1, self.last + 1)]
        rates = (split.before if good else split.after for split in splits)
        rate = sum(map(mul, affected, rates)) / share
        mixed = entropy(share * rate + (1 - share) * found.same)
        return max(0.0, mixed - share * entropy(rate) - (1 - share) * entropy(found.same))


def entropy(chance: float) -> float:
    """Return the entropy of a yes or no, in bits."""
    if not 0 < chance < 1:
        return 0.0
    return -chance * log2(chance) - (1 - chance) * log2(1 - chance)


def _cumulated(values: Iterable[float]) -> list[float]:
    return list(accumulate(values, initial=0.0))


def _likelihoods(passed: int, failed: int) -> tuple[list[float], float]:
    """Return rate → likelihood, as a multiple of the exponential of the second value."""
    logs = [passed * win + failed * lose for win, lose in _LOGS]
    most = max(logs)
    return [exp(value - most) for value in logs], most


def _split(before: tuple[int, int], after: tuple[int, int], unaffected: float) -> Split:
    """Return the view of a split; `unaffected` is the log of the likelihood without a fall."""
    (high, high_scale), (low, low_scale) = _likelihoods(*before), _likelihoods(*after)
    below = _cumulated(low)  # rates of at most so many steps below
    above = _cumulated(reversed(high))
    size = len(RATES)
    paired = [weight * below[max(0, n - STEPS + 1)] for n, weight in enumerate(high)]
    falling = [weight * above[max(0, size - n - STEPS)] for n, weight in enumerate(low)]
    total = sum(paired)
    if not total:
        return Split(-inf, 0.5, 0.5)
    ratio = log(total / _PAIRS) + high_scale + low_scale - unaffected
    rates = [sum(map(mul, weights, RATES)) / total for weights in (paired, falling)]
    return Split(ratio, *rates)
