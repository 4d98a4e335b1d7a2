from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.bench.pass_hat import pass_hat, pass_hats
from trainer.report import CaseScore


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_it_is_the_share_of_choices_that_all_passed(drawn: tuple[int, int, int]):
    n, passed, k = drawn
    outcomes = [number < passed for number in range(n)]
    assert pass_hat(passed, n, k) == sum(map(all, combinations(outcomes, k))) / comb(n, k)


def test_the_mean_over_cases_for_every_k_that_all_have():
    cases = [CaseScore(name="a", passed=2, n=4), CaseScore(name="b", passed=3, n=3)]
    assert pass_hats(cases) == {
        1: pytest.approx((2 / 4 + 1) / 2),
        2: pytest.approx((1 / 6 + 1) / 2),
        3: pytest.approx((0 + 1) / 2),
    }
    assert pass_hats([]) == {}


def test_an_attempt_without_a_score_did_not_pass():
    assert pass_hats([CaseScore(name="a", passed=2, n=2, failures=2)]) == {
        1: 0.5,
        2: pytest.approx(1 / 6),
        3: 0.0,
        4: 0.0,
    }
