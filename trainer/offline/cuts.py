"""Round numbers between the values of the data: thresholds that say a rule and not an instance."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_CUTS = 10
_STEPS = (10.0, 5.0, 2.0, 1.0)  # multiples of a power of ten, the roundest first
_DEPTH = 6


def cut_points(values: Iterable[float]) -> list[float]:
    """Return at most ten thresholds that separate distinct values, the roundest ones, in rising order.

    People set limits at round numbers: of all gaps those count first that contain the rounder number.
    """
    found = {roundest(low, high) for low, high in pairwise(sorted(set(values)))}
    return sorted(sorted(found, key=lambda n: (_length(n), abs(n), n))[:MAX_CUTS])


def roundest(low: float, high: float) -> float:
    """Return the roundest number in [low, high): `high` is more than it and `low` is not."""
    if low <= 0 < high:
        return 0.0
    if high <= 0:
        return -_round_in(-high, -low, include_low=False)
    return _round_in(low, high, include_low=True)


def _round_in(low: float, high: float, *, include_low: bool) -> float:
    """0 <= low < high: the roundest in [low, high), or in (low, high] without `include_low`."""
    top = floor(log10(high))
    for digits in range(top, top - _DEPTH, -1):
        for step in _STEPS:
            unit = step * 10.0**digits
            number = ceil(low / unit) * unit if include_low else floor(high / unit) * unit
            number = float(f"{number:.10g}")
            if (low <= number < high) if include_low else (low < number <= high):
                return number
    return low if include_low else high


def _length(number: float) -> int:
    """Return how many significant digits a number has."""
    return len(f"{abs(number):.10g}".replace(".", "").strip("0"))
