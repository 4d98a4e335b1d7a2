"""The statistics of the learners: exact tests, intervals, and how many lessons chance would write.

Besides the gate's (trainer/gate/), the only module that imports numpy. scipy.stats takes a second to import:
only the gate does. The learners need one quantile, which Python has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
KEPT = 64
"""How many of the largest scores under chance are kept per group of candidates."""
_NOTHING = 1e-18  # a variance below this is rounding


def floats(values: Sequence[float] | Sequence[Sequence[float]]) -> Floats:
    """Return numbers as an array."""
    return np.array(values, dtype=np.float64)


def whole(values: Sequence[int]) -> NDArray[np.int64]:
    """Return whole numbers as an array."""
    return np.array(values, dtype=np.int64)


def cosines(rows: Floats, one: Floats) -> list[float]:
    """Return the cosine of each row with a vector; 0 where either is all zeros."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(one)
    products = rows @ one
    return [float(x) for x in np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)]


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


@lru_cache(maxsize=65536)
def _hypergeometric(n: int, bad: int, broke: int) -> tuple[float, ...]:
    """Return the chances that low, low + 1, … of `broke` of n are bad, exactly, from the lowest possible."""
    low, high = max(0, broke + bad - n), min(broke, bad)
    ways = [comb(broke, k) * comb(n - broke, bad - k) for k in range(low, high + 1)]
    every = sum(ways)
    return tuple(way / every for way in ways)


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
            total = np.convolve(total, np.array(_hypergeometric(n, bad, table.broke)))
    return float(min(1.0, total[observed:].sum()))


def difference_interval(table: Table, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of `table.difference` by Newcombe's hybrid score method (1998, method 10)."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
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

    def scores(
        self, verdicts: Floats, outcome: Floats, *, compare_cases: bool, chance: bool = True
    ) -> tuple[Floats, Floats]:
        """Return (score of each candidate, its scores under chance: candidates by runs, or by none).

        `verdicts`: candidates by rollouts, 1 broke, 0 kept, -1 not applicable. `outcome`: 1 bad, 0 good. A
        score is standard: 0 on average and 1 its deviation when the outcome is shuffled within cases; with
        `compare_cases` it is the mean of that and the same over cases (share that broke it, share that came
        out badly), scaled to deviation 1: Stouffer's method for two independent scores.
        """
        within = self._within(verdicts, outcome)
        shuffled = outcome[self.rollouts[: self.runs if chance else 0]].T
        if not compare_cases:
            return within.standard(outcome), within.standard(shuffled)
        shares = self.average @ outcome
        between = self._between(verdicts, shares)
        moved = shares[self.blocks[: self.runs if chance else 0]].T
        scale = np.sqrt(np.maximum(within.informed.astype(np.float64) + between.informed, 1.0))
        return (
            (within.standard(outcome) + between.standard(shares)) / scale,
            (within.standard(shuffled) + between.standard(moved)) / scale[:, None],
        )

    def _within(self, verdicts: Floats, outcome: Floats) -> _Weighted:
        weights = np.zeros_like(verdicts)
        variance = np.zeros(len(verdicts))
        for case in self.names:
            at = self.cases == case
            part = verdicts[:, at]
            weights[:, at] = _centred(part, part >= 0)
            if (n := int(at.sum())) > 1:
                variance += outcome[at].var() * n / (n - 1) * (weights[:, at] ** 2).sum(axis=1)
        return _Weighted(weights, variance)

    def _between(self, verdicts: Floats, shares: Floats) -> _Weighted:
        member = (self.average > 0).astype(np.float64).T
        count = (verdicts >= 0).astype(np.float64) @ member
        broke = (verdicts > 0).astype(np.float64) @ member
        weights = _centred(broke / np.maximum(count, 1), count > 0)
        n = len(self.names)
        variance = (shares.var() * n / (n - 1) if n > 1 else 0.0) * (weights**2).sum(axis=1)
        return _Weighted(weights, variance)


@dataclass(frozen=True)
class _Weighted:
    """Candidates by places: what an outcome in each place adds to a score, and the variance of the sum."""

    weights: Floats
    variance: Floats

    @property
    def informed(self) -> Flags:
        """Whether the outcome can say anything about a candidate."""
        return self.variance > _NOTHING

    def standard(self, outcome: Floats) -> Floats:
        """Return the standard scores for an outcome per place, or for one per place and run."""
        scale = np.where(self.informed, np.sqrt(self.variance), np.inf)
        return (self.weights @ outcome) / (scale if outcome.ndim == 1 else scale[:, None])


def _centred(values: Floats, known: Flags) -> Floats:
    """Return values minus the mean of the known ones in their row, 0 where unknown."""
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = np.where(known, values, 0.0).sum(axis=1, keepdims=True) / count
    return np.where(known, values - mean, 0.0)


def largest(scores: Floats, count: int = KEPT) -> Floats:
    """Return the largest numbers of an array, in no order: what `threshold` needs of the scores of chance."""
    flat = scores.ravel()
    return flat if flat.size <= count else np.partition(flat, flat.size - count)[-count:]


def threshold(chance: Sequence[Floats], runs: int, allowed: float) -> float:
    """Return the score that chance exceeds at most `allowed` times per run, over all candidates.

    `chance`: the `largest` scores under chance of all candidates, or all of them, from so many runs. What
    scores more is kept: the expected number of false lessons (per-family error rate) is at most `allowed`,
    however the candidates depend on each other. `allowed` times `runs` is below KEPT.
    """
    if not chance:
        return float("inf")
    ranked = np.sort(np.concatenate([c.ravel() for c in chance]))[::-1]
    most = int(allowed * runs)
    return float(ranked[most]) if most < ranked.size else float("-inf")


def unpacked(rows: Sequence[int], width: int) -> Floats:
    """Return bit sets as rows of zeros and ones; bit n is column n of `width`."""
    size = (width + 7) // 8
    packed = np.frombuffer(b"".join(row.to_bytes(size, "little") for row in rows), dtype=np.uint8)
    flags = np.unpackbits(packed.reshape(len(rows), size), axis=1, count=width, bitorder="little")
    return flags.astype(np.float64)


def overlaps(rows: Sequence[int], owners: NDArray[np.int64]) -> tuple[list[list[int]], list[list[int]]]:
    """Return for each two bit sets how many positions both have, and of how many owners these are.

    `owners`: the owner of each position.
    """
    flags = unpacked(rows, len(owners)) if rows else np.zeros((0, len(owners)))
    shared = np.zeros((len(rows), len(rows)))
    counted = np.zeros((len(rows), len(rows)))
    for owner in np.unique(owners):
        part = flags[:, owners == owner]
        both = part @ part.T
        shared += both
        counted += both > 0
    return shared.astype(int).tolist(), counted.astype(int).tolist()


def tally(rows: Sequence[int], width: int) -> list[int]:
    """Return for each position in how many bit sets it is."""
    total = np.zeros(width, dtype=np.int64)
    for start in range(0, len(rows), 4096):
        total += unpacked(rows[start : start + 4096], width).sum(axis=0).astype(np.int64)
    return [int(n) for n in total]
