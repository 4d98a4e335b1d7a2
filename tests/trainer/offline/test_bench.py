from __future__ import annotations

import pytest

from tests.trainer.offline.world import shop
from trainer.offline.bench import Bench, Trial
from trainer.offline.corpus import Corpus
from trainer.offline.facts import read_facts
from trainer.offline.outcomes import FAILED
from trainer.stats import Table

RULE = "Do not call `cancel_order` when the age in days of the `created_at` of `order_id` is more than 30."


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(Corpus.of([read_facts(r, r.evaluation) for r in shop(12, 4)]))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trial(bench: Bench) -> Trial:
    return next(t for t in bench.trials if t.lesson.sentence() == RULE)


def test_equal_candidates_are_tried_once(bench: Bench) -> None:
    tried = [(t.outcome, t.verdicts) for t in bench.trials]
    assert len(set(tried)) == len(tried)


def test_a_true_rule_scores_above_its_chance(trial: Trial) -> None:
    assert trial.score > trial.chance.max()


def test_tables_count_the_chosen_rollouts(bench: Bench, trial: Trial) -> None:
    everything = bench.table(trial.verdicts, FAILED)
    assert everything.broke == trial.verdicts.count(1.0)
    assert everything.kept == trial.verdicts.count(0.0)
    assert bench.table(trial.verdicts, FAILED, [False] * len(trial.verdicts)) == Table()


def test_a_rule_is_mined_without_the_cases_that_judge_it(bench: Bench, trial: Trial) -> None:
    assert any(bench.left_out(trial))
    assert bench.score(trial, [False] * len(trial.verdicts)) == pytest.approx(0.0)
    assert bench.score(trial, [True] * len(trial.verdicts)) == pytest.approx(trial.score)
    assert bench.score(trial, [True] * len(trial.verdicts), cases=99) == pytest.approx(0.0)
