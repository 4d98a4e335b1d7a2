from __future__ import annotations

from itertools import product

import pytest
from scipy.stats import t

from trainer.gate.statistics import mcnemar, sampled_sign_flips, sign_flips, student


def counted(weights):
    """The p-values by trying every combination of signs."""
    total = sum(weights)
    sums = [
        sum(s * w for s, w in zip(signs, weights, strict=True))
        for signs in product((1, -1), repeat=len(weights))
    ]
    return sum(s >= total for s in sums) / len(sums), sum(s <= total for s in sums) / len(sums)


@pytest.mark.parametrize(
    "weights",
    [[1], [1, 1, 1, 1, 1], [2, 1, -1, 3], [4, 4, -4, 1, 1, 2, -3], [-1, -1, -2], [0, 0, 3], [1, -1]],
)
def test_sign_flips_are_counted_exactly(weights):
    assert sign_flips(weights) == pytest.approx(counted(weights))


def test_nothing_that_differs_is_no_evidence():
    assert sign_flips([]) == sign_flips([0, 0]) == mcnemar(0, 0) == (1.0, 1.0)


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (7, 1), (9, 2), (3, 3), (0, 6)])
def test_with_weights_of_one_it_is_mcnemars_test(wins, losses):
    assert sign_flips([1] * wins + [-1] * losses) == pytest.approx(mcnemar(wins, losses))


def test_sampled_flips_come_close_and_are_always_the_same():
    weights = [2, 1, -1, 3, 1, 1, 2, -2, 1, 3, 1, 2, -1, 2]
    first = sampled_sign_flips([w / 7 for w in weights], runs=2000)
    assert first == sampled_sign_flips([w / 7 for w in weights], runs=2000)
    assert first == pytest.approx(sign_flips(weights), abs=0.02)


def test_the_quantile_is_students():
    assert student(0.95, 9) == pytest.approx(float(t.ppf(0.95, 9)))
