from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.doubles import rollout
from trainer.trials import TrialStamp, check_count, gate_seed, seed_of, seeded, stamp_of, stamped, trials_of
from xpstore.errors import UsageError

A, B = rollout("a").case, rollout("b").case


def test_every_case_is_tried_once_before_any_is_tried_again():
    trials = trials_of([A, B], 2, base=1, training=True, first=4)
    assert [(t.case.name, t.number) for t in trials] == [("a", 4), ("b", 4), ("a", 5), ("b", 5)]
    assert trials[0].seed == trials[1].seed == seed_of(1, 4, training=True) != trials[2].seed
    assert trials[0].key == (A.id, 4)


def test_a_case_that_is_given_twice_is_one_case():
    assert [t.case.name for t in trials_of([A, B, A], 1, base=1, training=True)] == ["a", "b"]


def test_more_rollouts_than_can_be_kept_are_refused():
    check_count(100, 10_000)
    for cases, trials in ((101, 10_000), (1, 1_000_001), (10**6, 2)):
        with pytest.raises(UsageError, match=f"{cases * trials:,} rollouts") as caught:
            check_count(cases, trials)
        assert "1,000,000" in caught.value.hint
    with pytest.raises(UsageError, match="rollouts"):
        trials_of([A], 10**9, base=1, training=True)


numbers = st.integers(0, 10**6)


@given(numbers, numbers, numbers, numbers)
def test_nothing_is_taught_on_the_draws_it_is_measured_by(base, number, other_base, other_number):
    taught = seed_of(base, number, training=True)
    assert taught != seed_of(other_base, other_number, training=False)
    assert taught == seed_of(base, number, training=True)
    assert 0 <= taught < 10**12


@given(st.text(max_size=5), numbers, numbers, numbers, st.booleans())
def test_a_gate_never_draws_what_others_draw(pair, number, base, other, training):
    seed = gate_seed(pair, number)
    assert seed == gate_seed(pair, number)
    assert seed > seed_of(base, other, training=training)
    assert seed < 10**12


def test_every_two_sets_have_seeds_of_their_own():
    seeds = {gate_seed(f"pair {n}", number) for n in range(40) for number in range(40)}
    assert len(seeds) == 1600
    assert [(t.number, t.seed, t.case.name) for t in seeded([A, B], [7, 8])] == [
        (0, 7, "a"),
        (0, 7, "b"),
        (1, 8, "a"),
        (1, 8, "b"),
    ]


def test_trials_and_base_seeds_differ():
    seeds = {seed_of(base, number, training=False) for base in range(40) for number in range(40)}
    assert len(seeds) == 1600


def test_a_stamp_is_read_back_and_other_programs_trials_are_none():
    (trial,) = trials_of([A], 1, base=1, training=True)
    marked = stamped(rollout("a"), trial, "run-1", 2)
    stamp = stamp_of(marked)
    assert stamp == TrialStamp(run="run-1", epoch=2, number=0, seed=trial.seed, case=A.id)
    assert stamp.key == trial.key
    assert stamp_of(rollout("a")) is None  # its `trial` is a number
    assert stamp_of(rollout("a").model_copy(update={"metadata": {}})) is None
