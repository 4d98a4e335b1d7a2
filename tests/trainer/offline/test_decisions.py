from __future__ import annotations

from tests.trainer.offline.world import shop
from trainer.offline.condition import condition_words
from trainer.offline.corpus import MIN_CASES, Corpus
from trainer.offline.decisions import MAX_PAIRS, conditions
from trainer.offline.facts import read_facts


def test_conditions_hold_for_calls_in_enough_cases_and_fail_for_others() -> None:
    corpus = Corpus.of([read_facts(r, r.evaluation) for r in shop(12, 3)])  # type: ignore[arg-type]
    found = conditions(corpus, "cancel_order")
    assert "the age in days of the `created_at` of `order_id` is more than 30" in map(condition_words, found)
    sizes = [len(condition) for condition in found]
    assert sizes == sorted(sizes)
    assert sizes.count(2) <= MAX_PAIRS
    for condition in found:
        held = {r.case for r in corpus.rollouts for c in r.of("cancel_order") if r.holds(condition, c.at)}
        assert len(held) >= MIN_CASES, condition_words(condition)


def test_a_tool_that_nobody_called_has_none() -> None:
    assert conditions(Corpus.of([]), "cancel_order") == []
