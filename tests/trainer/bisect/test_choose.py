from __future__ import annotations

from dataclasses import replace

import pytest

from tests.trainer.bisect.play import search
from trainer.bisect.choose import Answer, Board, Step, bet, decide, likeliest, wanted
from trainer.bisect.model import Posterior

FELL = ((0, 4, 0), (4, 0, 4))
EVEN = (0.25,) * 4


def test_it_begins_at_the_ends_with_cases_of_which_nothing_is_known():
    assert decide(Board(EVEN, ((), (), ())), 0.95, 8) == Step("ends", (0,), (0, 1, 2), 2)
    assert decide(Board(EVEN, ((), (), ())), 0.95, 2) == Step("ends", (0,), (0, 1), 1)


def test_then_it_searches_in_the_middle_with_the_case_that_fell():
    step = decide(Board(EVEN, (FELL, ((0, 4, 0), (4, 4, 0)))), 0.95, 8)
    assert (step.aim, step.states, step.cases) == ("search", (2,), (0,))


def test_a_prior_moves_the_middle():
    step = decide(Board((0.85, 0.05, 0.05, 0.05), (FELL,)), 0.95, 8)
    assert step.states == (1,)


def test_who_is_likely_enough_is_tried_against_the_parent_before_it_is_named():
    board = Board(EVEN, (((0, 4, 0), (1, 4, 0), (2, 0, 4), (4, 0, 4)),))
    step = decide(board, 0.95, 8)
    assert (step.aim, step.states, step.cases) == ("confirm", (1, 2), (0,))
    assert 1 <= step.trials <= 4
    assert decide(replace(board, pairs={(1, 2): (6, 0)}), 0.95, 8) == Answer("found", 2, 2)
    assert isinstance(decide(replace(board, pairs={(1, 2): (6, 1)}), 0.95, 8), Step)


def test_more_suspects_that_are_tried_need_more():
    board = Board(EVEN, (FELL,), pairs={(0, 1): (1, 3)})
    assert wanted(board, 0.05, (0, 1)) == pytest.approx(32.9, abs=0.1)
    assert wanted(board, 0.05, (1, 2)) == pytest.approx(4 * 32.9, abs=0.4)


def test_the_bet_is_fair_where_a_suspect_does_nothing():
    """Whatever has happened, a pair that favours either side alike leaves the bet's mean as it is."""
    for won, lost in [(0, 0), (3, 1), (5, 0)]:
        assert (bet(won + 1, lost) + bet(won, lost + 1)) / 2 == pytest.approx(bet(won, lost))


def test_what_cannot_be_evaluated_is_passed_over_and_its_neighbours_are_one():
    closed = frozenset({(2, 0)})
    step = decide(Board(EVEN, (FELL,), closed=closed), 0.95, 8)
    assert step.states[0] in {1, 3}
    cases = (((0, 4, 0), (1, 4, 0), (3, 0, 4), (4, 0, 4)),)
    board = Board(EVEN, cases, pairs={(1, 3): (6, 0)}, closed=closed)
    chance, before, after = likeliest(board, Posterior(board.prior, board.cases))
    assert (before, after) == (1, 3)
    assert chance > 0.95
    assert decide(board, 0.95, 8) == Answer("found", 2, 3)


def test_a_case_that_cannot_be_evaluated_at_a_state_is_not_chosen_there():
    board = Board(EVEN, (FELL, FELL), closed=frozenset({(2, 0)}))
    step = decide(board, 0.95, 1)
    assert (step.states, step.cases) == ((2,), (1,)) or step.states != (2,)


def test_no_fall_is_no_culprit():
    assert decide(Board(EVEN, (((0, 30, 0), (4, 30, 0)),)), 0.95, 8) == Answer("same")
    assert decide(Board(EVEN, (((0, 0, 9), (4, 9, 0)),)), 0.95, 8) == Answer("same")


def test_where_nothing_can_be_run_that_would_tell_more_it_says_so():
    everywhere = frozenset({(state, 0) for state in range(5)} - {(0, 0), (4, 0)})
    known = Board(EVEN, (FELL,), closed=everywhere)
    assert decide(known, 0.99, 8) == Step("confirm", (0, 4), (0,), 4)
    unsure = Board(EVEN, (((0, 500, 500), (2, 300, 700), (4, 120, 880)),))
    assert isinstance(decide(unsure, 0.95, 8), Step | Answer)


@pytest.mark.parametrize("seed", range(6))
def test_a_whole_search_finds_the_culprit(seed):
    answer, culprit, rollouts = search(seed, [0.9] * 4 + [0.1] * 2, [0.1] * 2 + [0.9] * 2 + [0.1] * 2, 16)
    assert (answer.kind, answer.first, answer.last) == ("found", culprit, culprit)
    assert rollouts < 100


def test_nobody_is_named_where_nothing_changed():
    found = [search(seed, rates, rates, 16)[0].kind for seed in range(4) for rates in ([0.9] * 4, [0.5])]
    assert "found" not in found
