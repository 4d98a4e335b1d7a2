from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from trainer.stats import (
    Chance,
    Table,
    cosines,
    difference_interval,
    exact_p,
    floats,
    largest,
    overlaps,
    tally,
    threshold,
    unpacked,
    whole,
)

counts = st.integers(0, 6)


@given(counts, counts, counts, counts)
@settings(max_examples=60, deadline=None)
def test_one_stratum_is_fishers_test(a: int, b: int, c: int, d: int) -> None:
    expected = fisher_exact([[a, b], [c, d]], alternative="greater").pvalue
    assert exact_p([Table(a, a + b, c, c + d)]) == pytest.approx(expected, abs=1e-9)


def test_strata_are_added_exactly() -> None:
    # in each of two cases one of four trials broke the lesson and failed, and nobody else failed
    assert exact_p([Table(1, 1, 0, 3), Table(1, 1, 0, 3)]) == pytest.approx(1 / 16)


def test_a_stratum_without_contrast_says_nothing() -> None:
    assert exact_p([Table(4, 4, 0, 0), Table(0, 0, 2, 4)]) == pytest.approx(1.0)


def test_difference_interval_is_newcombes_worked_example() -> None:
    # Newcombe 1998, table II, example a: 56/70 against 48/80, method 10
    low, high = difference_interval(Table(56, 70, 48, 80))
    assert (low, high) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))


def test_difference_of_an_empty_side_is_nothing() -> None:
    assert Table(3, 3, 0, 0).difference == pytest.approx(0.0)


def test_scores_within_cases_ignore_what_sets_cases_apart() -> None:
    chance = Chance(whole([0, 0, 1, 1]), runs=50)
    broke_in_the_hard_case = floats([[1.0, 1.0, 0.0, 0.0]])
    score, by_chance = chance.scores(broke_in_the_hard_case, floats([1, 1, 0, 0]), compare_cases=False)
    assert score[0] == pytest.approx(0.0)
    assert not by_chance.any()


def test_scores_are_standard_under_shuffling() -> None:
    cases = whole([n // 4 for n in range(80)])
    chance = Chance(cases, runs=800)
    verdicts = floats([[1.0 if n % 4 == 0 else 0.0 for n in range(80)]])
    _, by_chance = chance.scores(verdicts, floats([float(n % 4 < 2) for n in range(80)]), compare_cases=False)
    assert by_chance.mean() == pytest.approx(0.0, abs=0.15)
    assert by_chance.std() == pytest.approx(1.0, abs=0.15)


def test_shuffles_stay_within_cases_and_never_change() -> None:
    cases = whole([1, 0, 1, 0, 0])
    one, two = Chance(cases, runs=30), Chance(cases, runs=30)
    assert (one.rollouts == two.rollouts).all()
    assert (cases[one.rollouts] == cases).all()
    assert len({tuple(row) for row in one.rollouts.tolist()}) > 5


def test_two_trials_in_two_cases_have_the_exact_shuffles() -> None:
    chance = Chance(whole([0, 0]), runs=200)
    assert {tuple(row) for row in chance.rollouts.tolist()} == set(permutations(range(2)))


def test_support_is_counted_in_cases() -> None:
    chance = Chance(whole([0, 0, 0, 1, 1, 1]), runs=1)
    verdicts = floats([[1, 1, 0, 1, 0, 0], [1, 1, 0, 0, 0, 0]])
    assert chance.supported(verdicts, floats([1, 1, 0, 1, 0, 0]), 2) == [True, False]


def test_threshold_lets_chance_through_as_often_as_allowed() -> None:
    scores = floats([[float(n) for n in range(100)]])
    assert (scores > threshold([scores], 100, 0.05)).sum() == 5
    assert (scores > threshold([largest(scores, 7)], 100, 0.05)).sum() == 5
    assert threshold([], 100, 0.05) == float("inf")


def test_bit_sets_become_rows_and_sums() -> None:
    assert unpacked([0b1, 0b1000000100], 10).tolist() == [[1] + [0] * 9, [0, 0, 1] + [0] * 6 + [1]]
    assert tally([0b11, 0b01, 0b01], 3) == [3, 1, 0]
    assert tally([], 2) == [0, 0]


def test_overlaps_count_positions_and_owners() -> None:
    shared, owners = overlaps([0b0111, 0b1110], whole([0, 0, 0, 1]))
    assert shared == [[3, 2], [2, 3]]
    assert owners == [[1, 1], [1, 2]]


def test_cosines_of_rows_and_none_of_nothing() -> None:
    found = cosines(floats([[1, 0], [1, 1], [0, 0], [-2, 0]]), floats([3, 0]))
    assert found == pytest.approx([1, 0.5**0.5, 0, -1])
