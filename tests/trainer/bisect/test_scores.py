from __future__ import annotations

from trainer.bisect.scores import Scores
from xpstore.evaluation import EvaluationKey, EvaluationRecord, TrialResult

TREES = ("t0", "t1", "t2")


def record(tree, seeds, outcomes):
    """`outcomes` is case → passed, for every seed."""
    key = EvaluationKey(
        experiences=tree, suite="s", suite_digest="d", trials=len(seeds), seeds=seeds, agent="a"
    )
    results = tuple(
        TrialResult(case=case, name=case, trial=n, seed=seed, passed=passed, score=float(passed))
        for n, seed in enumerate(seeds)
        for case, passed in outcomes.items()
    )
    return EvaluationRecord(key=key, commit="c", results=results)


def test_scores_are_counted_by_state_and_a_seed_once():
    scores = Scores(TREES, ("a", "b"), 1)
    scores.add(record("t0", (2, 4), {"a": True, "other": True}))
    scores.add(record("t2", (2,), {"a": False, "b": True}))
    scores.add(record("t2", (2,), {"a": True}))
    assert scores.counts == (((0, 2, 0), (2, 1, 0)), ((2, 1, 0),))
    assert len(scores) == 4


def test_seeds_are_never_drawn_twice_and_differ_between_trees():
    scores = Scores(TREES, ("a",), 1)
    first, seeds = scores.seeds((0,), 2)
    assert first == 0
    assert scores.seeds((1,), 2)[1] != seeds
    scores.add(record("t0", seeds, {"a": True}))
    again, others = scores.seeds((0,), 2)
    assert again == 2
    assert set(seeds).isdisjoint(others)
    assert Scores(TREES, ("a",), 2).seeds((0,), 2)[1] != seeds
    assert all(seed % 2 == 0 for seed in seeds)


def test_pairs_are_trials_of_one_seed_that_only_one_side_passed():
    scores = Scores(TREES, ("a", "b"), 1)
    assert scores.pairs([(0, 1), (1, 2)]) == {}
    _, seeds = scores.seeds((0, 1), 2)
    scores.add(record("t0", seeds, {"a": True, "b": True}))
    assert scores.pairs([(0, 1)]) == {(0, 1): (0, 0)}
    scores.add(record("t1", seeds, {"a": False, "b": True}))
    assert scores.pairs([(0, 1), (1, 2)]) == {(0, 1): (2, 0)}
    assert scores.seeds((0, 1), 1)[0] == 2
    assert scores.seeds((0,), 1)[0] == 0
