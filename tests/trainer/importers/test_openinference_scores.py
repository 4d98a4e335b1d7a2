import json

import pytest

from tests.recordings import span
from trainer.importers.openinference import spans_of
from trainer.importers.openinference_scores import Mark, bounded, evaluation_of, marks_of


def marks(kind="AGENT", name="root", beside=None, events=(), **attributes):
    given = {"openinference.span.kind": kind, **attributes}
    value = {**span(name, kind), "attributes": given, "annotations": beside, "events": list(events)}
    (found,) = spans_of(value)
    return [(mark.name, mark.passed, mark.score) for mark in marks_of(found)]


@pytest.mark.parametrize(
    ("name", "score", "label", "passed"),
    [
        ("correctness", 1, None, True),
        ("Task Success", 0.5, None, False),
        ("correctness", True, None, True),
        ("correctness", 0.5, "correct", True),
        ("hallucination", 1, "hallucinated", None),
        ("hallucination", 0, None, None),
        ("quality", 0.9, None, None),
        ("quality", 0.9, "FAIL", False),
        ("correctness", 7, None, None),
        ("correctness", -0.1, None, None),
        ("correctness", 10**400, None, None),
        ("correctness", "1", None, None),
        ("", 1, "", None),
    ],
)
def test_a_score_counts_where_its_scale_is_clear(name, score, label, passed):
    made = {"eval.x.score": score, "eval.x.label": label}
    (found,) = marks(**{key.replace("x", name or "y"): value for key, value in made.items()})
    assert found[1] is passed
    assert 0 <= found[2] <= 1


@pytest.mark.parametrize(
    "given",
    [
        {"annotations.0.annotation.name": "correctness", "annotations.0.annotation.score": 1},
        {"evaluations.0.evaluation.name": "correctness", "evaluations.0.evaluation.score": 1},
        {
            "trace.annotations.0.annotation.name": "correctness",
            "trace.annotations.0.annotation.label": "pass",
        },
        {"session.evaluations": [{"evaluation.name": "correctness", "evaluation.score": 1.0}]},
        {"beside": [{"name": "correctness", "annotator_kind": "HUMAN", "result": {"score": 1}}]},
        {
            "events": [
                {
                    "name": "gen_ai.evaluation.result",
                    "attributes": {
                        "gen_ai.evaluation.name": "correctness",
                        "gen_ai.evaluation.score.value": 1,
                    },
                }
            ]
        },
        {"kind": "EVALUATOR", "name": "correctness", "output.value": json.dumps({"score": 1})},
        {"kind": "EVALUATOR", "name": "correctness", "output.value": " Correct\n"},
    ],
)
def test_every_place_where_evaluations_stand(given):
    assert marks(**given) == [("correctness", True, 1.0)]


def test_places_where_nothing_is_judged():
    assert marks("EVALUATOR", **{"output.value": "it is fine"}) == []
    assert marks("EVALUATOR", **{"output.value": "{"}) == []
    odd = marks(**{"annotations": 5, "eval.x": 5, "eval": {"y": 3}}, beside=[5], events=[5])
    assert sorted(odd) == [("x", None, 0.0), ("y", None, 0.0)]
    assert bounded([Mark("x", None, 0.0, {"name": "x"}), Mark("", True, 1.0, {"name": "", "score": 1})]) == ()


def test_the_lowest_of_a_name_counts():
    said = {"name": "correctness", "explanation": "Too late."}
    given = [
        Mark("correctness", passed, float(passed), said if not passed else {"name": "correctness"})
        for passed in (True, False, True)
    ]
    evaluation, rubric = evaluation_of([*given, Mark("success", True, 1.0, {}), Mark("odd", None, 0.3, {})])
    assert (evaluation.passed, evaluation.score) == (False, 0.5)
    assert evaluation.feedback == ("correctness: Too late.",)
    assert [c.name for c in rubric.criteria] == [r.criterion_name for r in evaluation.criterion_results]
    assert evaluation_of([Mark("odd", None, 0.3, {})]) is None
