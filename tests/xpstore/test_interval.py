from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from xpstore.interval import newcombe, wilson


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_interval_is_wilsons(a: int, b: int) -> None:
    n, passed = max(a, b), min(a, b)
    low, high = wilson(passed, n)
    if n:
        known = binomtest(passed, n).proportion_ci(method="wilson")
        assert math.isclose(low, known.low, abs_tol=1e-12)
        assert math.isclose(high, known.high, abs_tol=1e-12)
    else:
        assert (low, high) == (0, 1)


def test_the_difference_is_newcombes() -> None:
    # the examples (a) and (e) of table II in the article, method 10
    low, high = newcombe((56 / 70, 70), (48 / 80, 80))
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)
    low, high = newcombe((5 / 56, 56), (0 / 29, 29))
    assert (round(low, 4), round(high, 4)) == (-0.0381, 0.1926)


@given(st.floats(0, 1), st.floats(0, 50), st.floats(0, 1), st.floats(0, 50))
def test_a_difference_lies_in_its_interval(p: float, n: float, q: float, m: float) -> None:
    low, high = newcombe((p, n), (q, m))
    assert -1.5 <= low <= p - q + 1e-9
    assert p - q - 1e-9 <= high <= 1.5
