from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer import rubric
from trainer.domain import CriterionResult, Rubric, RubricCriterion
from trainer.errors import ComponentError


def asked(*criteria: tuple[str, bool, float]) -> Rubric:
    return Rubric(
        name="r",
        criteria=tuple(RubricCriterion(name=n, required=required, weight=w) for n, required, w in criteria),
    )


def result(name: str, score: float, *feedback: str) -> CriterionResult:
    return CriterionResult(criterion_name=name, passed=score == 1, score=score, feedback=feedback)


@pytest.mark.parametrize(
    ("criteria", "scores", "passed", "score"),
    [
        ([("a", True, 1), ("b", True, 1)], [1, 1], True, 1),
        ([("a", True, 1), ("b", True, 3)], [1, 0], False, 0.25),
        ([("a", True, 1), ("polite", False, 1)], [1, 0.5], True, 0.75),
        ([("a", False, 1), ("b", False, 1)], [1, 0.5], False, 0.75),  # none required: all are
        ([("a", True, 0), ("b", True, 0)], [1, 0], False, 0.5),  # no weights: the plain mean
        ([("a", True, 0), ("b", False, 2)], [0, 1], False, 1),  # required without weight still decides
        ([("a", True, 1e300), ("b", True, 1e300)], [1, 1], True, 1),
    ],
)
def test_the_rule(criteria, scores, passed, score):
    results = [result(name, s) for (name, _, _), s in zip(criteria, scores, strict=True)]
    evaluation = rubric.evaluate(asked(*criteria), results[::-1])
    assert (evaluation.passed, evaluation.score) == (passed, score)
    assert [r.criterion_name for r in evaluation.criterion_results] == [name for name, _, _ in criteria]


def test_feedback_names_the_criteria_that_failed():
    evaluation = rubric.evaluate(
        asked(("a", True, 1), ("b", True, 1)),
        [result("a", 1, "fine"), result("b", 0, "not paid", "no mail")],
        {"reward": 0},
    )
    assert evaluation.feedback == ("b: not paid", "b: no mail")
    assert evaluation.metadata == {"reward": 0}


@pytest.mark.parametrize(
    ("criteria", "results", "why"),
    [
        ([], [], "has no criteria"),
        ([("a", True, 1)], [], "criterion 'a' was not checked"),
        ([("a", True, 1)], [result("a", 1), result("b", 1)], "there is no criterion 'b'"),
        ([("a", True, 1)], [result("a", 1), result("a", 0)], "'a' has 2 results"),
        ([("a", True, 1), ("a", True, 1)], [result("a", 1)], "two criteria are called 'a'"),
        ([("a", True, 1)], [result("a", 1.5)], "has score 1.5"),
        ([("a", True, 1)], [result("a", math.nan)], "has score nan"),
        ([("a", True, -1)], [result("a", 1)], "has weight -1"),
        ([("a", True, math.inf)], [result("a", 1)], "has weight inf"),
    ],
)
def test_what_was_not_checked_did_not_fail(criteria, results, why):
    with pytest.raises(ComponentError, match=why):
        rubric.evaluate(asked(*criteria), results)


unit = st.floats(0, 1)
rows = st.lists(st.tuples(st.booleans(), st.floats(0, 1e6), unit), min_size=1, max_size=6)


@given(rows, st.randoms())
def test_order_does_not_matter_and_a_mean_lies_within(drawn, random):
    criteria = [(f"c{i}", required, weight) for i, (required, weight, _) in enumerate(drawn)]
    results = [result(f"c{i}", score) for i, (_, _, score) in enumerate(drawn)]
    straight = rubric.evaluate(asked(*criteria), results)
    random.shuffle(criteria)
    random.shuffle(results)
    mixed = rubric.evaluate(asked(*criteria), results)
    assert (mixed.passed, mixed.score) == (straight.passed, straight.score)
    assert min(r.score for r in results) <= straight.score <= max(r.score for r in results)
