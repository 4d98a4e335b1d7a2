import pytest

from tests.recordings import tau2
from trainer.importers.form import Flaw
from trainer.importers.jsontext import RecordError
from trainer.importers.tau2_results import matches, read


def test_simulations_are_scored_rollouts_and_infrastructure_is_told():
    passed, failed, lost = read(tau2())
    assert isinstance(lost, Flaw)
    assert "infrastructure_error" in lost.why
    assert [(f.rollout.evaluation.passed, f.rollout.evaluation.score) for f in (passed, failed)] == [
        (True, 1.0),
        (False, 0.0),
    ]
    assert passed.rollout.case == failed.rollout.case
    assert passed.keys == ("p",)
    results = [(r.criterion_name, r.score) for r in failed.rollout.evaluation.criterion_results]
    assert results == [("tau2_reward", 0.0), ("database", 0.0), ("communicated", 1.0)]


def test_who_called_stays_and_one_id_is_two_calls():
    rollout = next(iter(read(tau2()))).rollout
    found = [(m.role, t.tool_name, t.tool_output, t.tool_status) for m in rollout.messages for t in m.tools]
    assert found == [
        ("assistant", "cancel", "Error: no", "error"),
        ("user", "look_at_phone", "4 bars", "completed"),
    ]
    assert [call.tool_name for call in rollout.calls] == ["cancel"]
    assert "raw_data" not in rollout.model_dump_json()


def test_gold_is_a_training_label_and_nothing_else():
    rollout = next(iter(read(tau2()))).rollout
    assert rollout.case.input == {
        "domain": "airline",
        "user_query": "You want to cancel R1.",
        "expected_actions": [{"name": "cancel", "arguments": {"id": "R1"}}],
    }
    assert "R1" not in rollout.evaluation.model_dump_json()


def test_one_simulation_of_a_folder():
    (found,) = read(tau2()["simulations"][0])
    assert (found.rollout.case.name, found.rollout.evaluation.score) == ("tau2_7", 1.0)
    (found,) = read({**tau2()["simulations"][0], "reward_info": None})
    assert found.rollout.evaluation is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"messages": None}, "has no messages"),
        ({"messages": []}, "messages is empty"),
        ({"messages": [{"role": "robot"}]}, "role 'robot'"),
        ({"reward_info": {"reward": 7}}, "not from 0 to 1"),
        ({"reward_info": 5}, "reward_info is not a JSON object"),
    ],
)
def test_broken_simulations(change, why):
    with pytest.raises(RecordError, match=why):
        list(read({**tau2()["simulations"][0], **change}))


def test_what_it_is_told_by():
    assert matches(tau2())
    assert not matches({"simulations": []})
    with pytest.raises(RecordError, match="holds no simulations"):
        list(read(tau2(simulations=[])))
