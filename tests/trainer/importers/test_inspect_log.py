import json

import pytest

from tests.recordings import inspect, sample
from trainer.importers.form import Flaw, Found
from trainer.importers.inspect_log import matches, read
from trainer.importers.jsontext import RecordError


def only(*samples):
    (found,) = read(inspect(*samples))
    return found


def test_a_sample_is_a_rollout():
    found = only(sample())
    rollout = found.rollout
    assert [(m.role, m.text) for m in rollout.messages] == [
        ("system", "Be good."),
        ("user", "What is there?"),
        ("assistant", "I look."),
        ("assistant", "It is a."),
    ]
    (tool,) = rollout.messages[2].tools
    assert (tool.tool_name, tool.tool_input, tool.tool_output, tool.tool_status) == (
        "bash",
        {"cmd": "ls"},
        "it took too long",
        "error",
    )
    assert found.keys == ("u1-1", "1_epoch_1")
    assert (rollout.metadata["trial"], rollout.metadata["model"]) == (1, "m")


def test_scores_are_criteria_and_the_target_is_for_nobody():
    rollout = only(sample()).rollout
    evaluation = rollout.evaluation
    assert (evaluation.passed, evaluation.score) == (False, 0.625)
    assert [(r.criterion_name, r.passed, r.score) for r in evaluation.criterion_results] == [
        ("match", True, 1.0),
        ("judge", False, 0.25),
    ]
    assert [c.name for c in rollout.case.rubric.criteria] == ["match", "judge"]
    assert evaluation.feedback == ("judge: Not polite.",)
    assert rollout.case.input == {"user_query": "What is there?"}
    assert "gold" not in json.dumps([rollout.case.input, rollout.model_dump(mode="json")["messages"]])


@pytest.mark.parametrize(
    ("value", "marks"),
    [
        ("P", {"s": 0.5}),
        ("I", {"s": 0.0}),
        (True, {"s": 1.0}),
        ("0.75", {"s": 0.75}),
        ("yes", {"s": 1.0}),
        ({"a": 1, "b": "C", "c": "words"}, {"s.a": 1.0, "s.b": 1.0}),
        ("words", None),
        ([1], None),
        (10**400, None),
    ],
)
def test_what_a_score_can_be(value, marks):
    evaluation = only(sample(scores={"s": {"value": value}})).rollout.evaluation
    assert (evaluation.metadata["scores"] if evaluation else None) == marks


def test_epochs_are_trials_of_one_case():
    first, second = (found.rollout for found in read(inspect(sample(), sample(epoch=2))))
    assert first.case == second.case
    assert first.id != second.id


def test_a_sample_that_an_error_ended_is_told_and_the_rest_goes_on():
    broken = sample(2, error={"message": "out of memory"}, scores=None)
    flaw, odd, found = read(inspect(broken, sample(3, messages=[{"content": "x"}]), sample()))
    assert flaw == Flaw("sample 2 epoch 1: it ended with an error and was not scored: out of memory")
    assert "has no role" in odd.why
    assert isinstance(found, Found)
    assert only(sample(error={"message": "late"})).rollout.metadata["error"] == {"message": "late"}


def test_texts_that_are_kept_apart_are_bounded(monkeypatch):
    monkeypatch.setattr("trainer.importers.inspect_log._MOST_RESTORED", 30)
    messages = [{"role": "user", "content": "attachment://k"}] * 4
    rollout = only(sample(messages=messages, attachments={"k": "x" * 10})).rollout
    assert [m.text for m in rollout.messages] == ["x" * 10] * 3 + ["attachment://k"]


def test_versions_and_what_is_broken():
    flaw, _ = read(inspect(version=9))
    assert flaw.kind == "warning"
    with pytest.raises(RecordError, match="holds no samples"):
        list(read(inspect() | {"samples": None}))
    assert not matches({"eval": {"task": "x"}})
    assert not matches({"samples": []})
