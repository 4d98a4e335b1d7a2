"""Intervals of shares and of their difference, without a library."""

from __future__ import annotations

from math import sqrt

_Z = 1.959963984540054  # the normal quantile of a two-sided 95 % interval


def wilson(passed: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share, as fractions; (0, 1) for n = 0.

    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927), without
    continuity correction. Counts need not be whole: an effective sample size is none.
    """
    if not n:
        return 0.0, 1.0
    share, weight = passed / n, _Z * _Z / n
    middle = (share + weight / 2) / (1 + weight)
    half = _Z * sqrt(max(0.0, share * (1 - share)) / n + weight / (4 * n)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def newcombe(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the 95 % interval of a difference of two independent shares, each given as (share, n).

    Newcombe, Interval estimation for the difference between independent proportions, Statistics in Medicine
    17 (1998), method 10: the limits of Wilson's intervals, squared and added.
    """
    (p1, n1), (p2, n2) = one, other
    (low1, high1), (low2, high2) = wilson(p1 * n1, n1), wilson(p2 * n2, n2)
    gap = p1 - p2
    return gap - sqrt((p1 - low1) ** 2 + (high2 - p2) ** 2), gap + sqrt((high1 - p1) ** 2 + (p2 - low2) ** 2)
