"""The statistics of the learners: exact tests, intervals, and how many lessons chance would write.

The only module that imports scipy and numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom, norm

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_NOTHING = 1e-18  # a variance below this is rounding


def floats(values: Sequence[float] | Sequence[Sequence[float]]) -> Floats:
    """Return numbers as an array."""
    return np.array(values, dtype=np.float64)


def whole(values: Sequence[int]) -> NDArray[np.int64]:
    """Return whole numbers as an array."""
    return np.array(values, dtype=np.int64)


class Table(NamedTuple):
    """Rollouts that broke and that kept a lesson, and how many of each came out bad."""

    broke_bad: int = 0
    broke: int = 0
    kept_bad: int = 0
    kept: int = 0

    def plus(self, other: Table) -> Table:
        """Return the sum of two tables."""
        return Table(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def difference(self) -> float:
        """Share of bad outcomes where it was broken minus the share where it was kept; 0 if one is empty."""
        if not self.broke or not self.kept:
            return 0.0
        return self.broke_bad / self.broke - self.kept_bad / self.kept


def exact_p(strata: Sequence[Table]) -> float:
    """Return the one-sided exact p-value that breaking goes with bad outcomes, stratified.

    Given the margins of each stratum, the number of bad outcomes among those that broke the lesson is
    hypergeometric; the sum over strata is convolved exactly (the exact conditional test of common odds, as in
    Agresti, Categorical Data Analysis, section 6.4). One stratum is Fisher's test.
    """
    total: Floats = np.array([1.0])
    observed = 0
    for table in strata:
        n, bad = table.broke + table.kept, table.broke_bad + table.kept_bad
        low, high = max(0, table.broke + bad - n), min(table.broke, bad)
        observed += table.broke_bad - low
        if high > low:
            total = np.convolve(total, hypergeom.pmf(np.arange(low, high + 1), n, bad, table.broke))
    return float(min(1.0, total[observed:].sum()))


def difference_interval(table: Table, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of `table.difference` by Newcombe's hybrid score method (1998, method 10)."""
    z = float(norm.ppf(0.5 + level / 2))
    p1, low1, high1 = _wilson(table.broke_bad, table.broke, z)
    p2, low2, high2 = _wilson(table.kept_bad, table.kept, z)
    gap = p1 - p2
    return (
        gap - sqrt((p1 - low1) ** 2 + (high2 - p2) ** 2),
        gap + sqrt((high1 - p1) ** 2 + (p2 - low2) ** 2),
    )


def _wilson(bad: int, n: int, z: float) -> tuple[float, float, float]:
    """Return the share and its Wilson interval; (0, 0, 1) for no observations."""
    if n == 0:
        return 0.0, 0.0, 1.0
    share = bad / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return share, max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Chance:
    """Runs in which nothing is true: outcomes shuffled within cases, and whole cases shuffled.

    A pure function of the number of rollouts per case, so that every learner run sees the same chance.
    """

    cases: NDArray[np.int64]
    """The case of each rollout."""
    runs: int = 600
    seed: int = 20240501

    @cached_property
    def names(self) -> NDArray[np.int64]:
        """The distinct cases."""
        return np.unique(self.cases)

    @cached_property
    def average(self) -> Floats:
        """Cases by rollouts: multiplied with an outcome it gives the share of each case."""
        return np.stack([(self.cases == c) / np.sum(self.cases == c) for c in self.names])

    @cached_property
    def rollouts(self) -> NDArray[np.int64]:
        """Runs by rollouts: permutations that stay within cases."""
        rng = np.random.default_rng(self.seed)
        order = np.argsort(self.cases, kind="stable")
        keys = rng.random((self.runs, len(self.cases)))
        ranked = np.lexsort((keys[:, order], np.broadcast_to(self.cases[order], keys.shape)), axis=1)
        result = np.empty((self.runs, len(self.cases)), dtype=np.int64)
        result[:, order] = order[ranked]
        return result

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """Runs by cases: permutations of the cases."""
        rng = np.random.default_rng(self.seed + 1)
        return np.argsort(rng.random((self.runs, len(self.names))), axis=1)

    def counts(self, flags: Flags) -> NDArray[np.int64]:
        """Return in how many cases each row has a flag. `flags`: candidates by rollouts."""
        member = (self.average > 0).astype(np.float64)
        return np.asarray((flags.astype(np.float64) @ member.T > 0).sum(axis=1), dtype=np.int64)

    def supported(self, verdicts: Floats, outcome: Floats, cases: int) -> list[bool]:
        """Say which candidates were broken, kept, and broken with the bad outcome, each in enough cases."""
        broke = verdicts > 0
        enough = [self.counts(flags) >= cases for flags in (broke, verdicts == 0, broke & (outcome > 0))]
        return [bool(x) for x in np.all(enough, axis=0)]

    def scores(self, verdicts: Floats, outcome: Floats, *, compare_cases: bool) -> tuple[Floats, Floats]:
        """Return (score of each candidate, scores under chance: candidates by runs).

        `verdicts`: candidates by rollouts, 1 broke, 0 kept, -1 not applicable. `outcome`: 1 bad, 0 good. A
        score is standard: 0 on average and 1 its deviation when the outcome is shuffled within cases; with
        `compare_cases` it is the mean of that and the same over cases (share that broke it, share that came
        out badly), scaled to deviation 1: Stouffer's method for two independent scores.
        """
        within, chance_within, informed = self._within(verdicts, outcome)
        if not compare_cases:
            return within, chance_within
        between, chance_between, compared = self._between(verdicts, outcome)
        scale = np.sqrt(np.maximum(informed.astype(np.float64) + compared, 1.0))
        return (within + between) / scale, (chance_within + chance_between) / scale[:, None]

    def _within(self, verdicts: Floats, outcome: Floats) -> tuple[Floats, Floats, Flags]:
        weights = np.zeros_like(verdicts)
        variance = np.zeros(len(verdicts))
        for case in self.names:
            at = self.cases == case
            part = verdicts[:, at]
            weights[:, at] = _centred(part, part >= 0)
            if (n := int(at.sum())) > 1:
                variance += outcome[at].var() * n / (n - 1) * (weights[:, at] ** 2).sum(axis=1)
        chance = weights @ outcome[self.rollouts].T
        return _standard(weights @ outcome, variance), _standard(chance, variance), variance > _NOTHING

    def _between(self, verdicts: Floats, outcome: Floats) -> tuple[Floats, Floats, Flags]:
        count = np.stack([(verdicts[:, self.cases == c] >= 0).sum(axis=1) for c in self.names], axis=1)
        broke = np.stack([(verdicts[:, self.cases == c] > 0).sum(axis=1) for c in self.names], axis=1)
        weights = _centred(broke / np.maximum(count, 1), count > 0)
        shares = self.average @ outcome
        n = len(self.names)
        variance = (shares.var() * n / (n - 1) if n > 1 else 0.0) * (weights**2).sum(axis=1)
        chance = weights @ shares[self.blocks].T
        return _standard(weights @ shares, variance), _standard(chance, variance), variance > _NOTHING


def _centred(values: Floats, known: Flags) -> Floats:
    """Return values minus the mean of the known ones in their row, 0 where unknown."""
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = np.where(known, values, 0.0).sum(axis=1, keepdims=True) / count
    return np.where(known, values - mean, 0.0)


def _standard(values: Floats, variance: Floats) -> Floats:
    scale = np.where(variance > _NOTHING, np.sqrt(variance), np.inf)
    return values / (scale if values.ndim == 1 else scale[:, None])


def threshold(chance: Sequence[Floats], allowed: float) -> float:
    """Return the score that chance exceeds at most `allowed` times per run, over all candidates.

    `chance`: scores under chance, candidates by runs each. What scores more is kept: the expected number of
    false lessons (per-family error rate) is at most `allowed`, however the candidates depend on each other.
    """
    if not chance:
        return float("inf")
    runs = chance[0].shape[1]
    ranked = np.sort(np.concatenate([c.ravel() for c in chance]))[::-1]
    most = int(allowed * runs)
    return float(ranked[most]) if most < ranked.size else float("-inf")
