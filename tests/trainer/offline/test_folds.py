from __future__ import annotations

from trainer.offline.folds import FOLDS, fold_of


def test_folds_are_stable_and_all_used() -> None:
    assert [fold_of(c) for c in ("a", "b", "訂單")] == [fold_of(c) for c in ("a", "b", "訂單")]
    assert {fold_of(f"case-{n}") for n in range(200)} == set(range(FOLDS))
