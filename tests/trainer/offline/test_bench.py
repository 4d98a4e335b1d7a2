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
    tried = [(t.group, t.outcome, t.judged) for t in bench.trials]
    assert len(set(tried)) == len(tried)


def test_a_true_rule_scores_above_its_chance(bench: Bench, trial: Trial) -> None:
    assert trial.score > max(found.max() for found in bench.chance[trial.group])


def test_tables_count_the_chosen_rollouts(bench: Bench, trial: Trial) -> None:
    everything = bench.table(trial.judged, FAILED)
    assert everything.broke == trial.judged.broke.bit_count()
    assert everything.kept == trial.judged.kept.bit_count()
    assert bench.table(trial.judged, FAILED, 0) == Table()


def test_a_case_counts_once_on_each_side(bench: Bench, trial: Trial) -> None:
    found = bench.case_table(trial.judged, FAILED, -1)
    assert max(found.broke, found.kept) <= len(bench.of_case) == 12
    assert found.broke_bad == found.broke


def test_a_rule_is_mined_without_the_cases_that_judge_it(bench: Bench, trial: Trial) -> None:
    assert bench.left_out(trial)
    assert bench.score(trial, 0) == pytest.approx(0.0)
    assert bench.score(trial, -1) == pytest.approx(trial.score)
    assert bench.score(trial, -1, cases=99) == pytest.approx(0.0)
