"""The gate's tests and quantiles. The only module that imports scipy; scipy.stats alone takes two seconds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtrc, stdtrit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.stats import Floats


@lru_cache(maxsize=1024)
def student(share: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution below which `share` of it lies."""
    return float(stdtrit(freedom, share))


@lru_cache(maxsize=1024)
def mcnemar(wins: int, losses: int) -> tuple[float, float]:
    """Return McNemar's exact one-sided p-values: of so many wins, and of so many losses (binomial, 1/2)."""
    n = wins + losses
    if not n:
        return 1.0, 1.0
    return (
        float(bdtrc(wins - 1, n, 0.5)),
        float(bdtrc(losses - 1, n, 0.5)),
    )


def sign_flips(weights: Sequence[int]) -> tuple[float, float]:
    """Return the exact one-sided p-values that a sum of paired differences is so large, and so small.

    Where both sides of a pair are exchangeable, each difference has either sign with chance 1/2 (Fisher, The
    Design of Experiments, 1935, section 21); the distribution of the sum is convolved, so nothing is sampled.
    """
    sizes = [abs(weight) for weight in weights if weight]
    chances: Floats = np.ones(1)
    for size in sizes:  # a sum of s stands at place (s + total) / 2
        wider = np.zeros(len(chances) + size)
        wider[: len(chances)] += chances / 2
        wider[size:] += chances / 2
        chances = wider
    at = (sum(weights) + sum(sizes)) // 2
    return float(min(1.0, chances[at:].sum())), float(min(1.0, chances[: at + 1].sum()))


def sampled_sign_flips(
    differences: Sequence[float], *, runs: int = 99_999, seed: int = 1
) -> tuple[float, float]:
    """Return the same for differences without a small common denominator, from random flips.

    The same differences always have the same p-values.
    """
    from scipy.stats import permutation_test  # noqa: PLC0415  # rarely needed, and slow to load

    def p_value(values: Floats) -> float:
        found = permutation_test(
            (values,),
            np.mean,
            permutation_type="samples",
            alternative="greater",
            n_resamples=runs,
            batch=1000,
            rng=np.random.default_rng(seed),
        )
        return float(found.pvalue)

    values = np.array(differences, dtype=np.float64)
    return p_value(values), p_value(-values)
