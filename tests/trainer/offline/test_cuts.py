from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.offline.cuts import MAX_CUTS, cut_points, roundest

numbers = st.integers(-(10**6), 10**6).map(float)


def test_limits_are_found_at_round_numbers() -> None:
    assert 250.0 in cut_points([40, 90, 240, 260, 500])
    assert cut_points([1.0, 2.0]) == [1.0]
    assert cut_points([5.0]) == []


@given(st.lists(numbers, unique=True, min_size=2, max_size=60))
@settings(max_examples=100, deadline=None)
def test_every_cut_separates_values(values: list[float]) -> None:
    cuts = cut_points(values)
    assert 0 < len(cuts) <= MAX_CUTS
    assert cuts == sorted(set(cuts))
    for cut in cuts:
        assert min(values) <= cut < max(values)


@given(numbers, numbers)
@settings(max_examples=200, deadline=None)
def test_the_roundest_number_is_in_its_gap(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    if low < high:
        assert low <= roundest(low, high) < high
