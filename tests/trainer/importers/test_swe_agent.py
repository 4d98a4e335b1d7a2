import pytest

from tests.recordings import swe_agent
from trainer.importers.jsontext import RecordError
from trainer.importers.swe_agent import matches, read


def only(record):
    (found,) = read(record)
    return found


def test_a_step_is_a_call_with_its_result():
    found = only(swe_agent())
    assert [(m.role, m.text) for m in found.rollout.messages] == [
        ("system", "You are a programmer."),
        ("user", "Fix it."),
        ("assistant", "I open it."),
        ("assistant", "Done."),
    ]
    opened, submitted = (m.tools[0] for m in found.rollout.messages[2:])
    assert (opened.tool_name, opened.tool_input, opened.tool_output) == ("open", {"path": "x"}, "1: a")
    assert (submitted.tool_name, submitted.tool_input) == ("bash", {"command": "submit"})
    assert submitted.tool_status == "completed"
    assert (found.rollout.case.name, found.keys) == ("repo-i1", ("repo-i1",))
    assert found.rollout.metadata["exit_status"] == "submitted"
    assert found.rollout.metadata["model"] == "m"


@pytest.mark.parametrize("config", ["{broken", None, [], "[1]", {"problem_statement": 5}])
def test_without_a_name_the_task_is_the_case(config):
    case = only(swe_agent(replay_config=config)).rollout.case
    assert case.input == {"user_query": "Fix it."}


def test_a_step_without_an_action_says_something():
    steps = [
        {"action": "", "observation": "Use one command.", "thought": "hm"},
        {"action": None, "response": "r"},
    ]
    messages = only(swe_agent(trajectory=steps)).rollout.messages[2:]
    assert [(m.role, m.text) for m in messages] == [
        ("assistant", "hm"),
        ("user", "Use one command."),
        ("assistant", "r"),
    ]


def test_an_action_that_was_asked_for_twice_has_the_call_of_its_turn():
    call = {"id": "c", "function": {"name": "f", "arguments": '{"n": 1}'}}
    asked = [
        {"role": "assistant", "action": "f", "tool_calls": [{**call, "id": name}]} for name in ("one", "two")
    ]
    steps = [{"action": "other", "observation": "0"}, *({"action": "f", "observation": n} for n in "12")]
    rollout = only(swe_agent(history=asked, trajectory=steps)).rollout
    found = [(t.tool_id, t.tool_name, t.tool_output) for m in rollout.messages for t in m.tools]
    assert found == [("step-1", "bash", "0"), ("one", "f", "1"), ("two", "f", "2")]


def test_broken_trajectories():
    with pytest.raises(RecordError, match="the trajectory is empty"):
        only(swe_agent(trajectory=[], history=[]))
    with pytest.raises(RecordError, match="an item of history is not a JSON object"):
        only(swe_agent(history=["x"]))


def test_what_it_is_told_by():
    assert matches(swe_agent())
    assert matches({"trajectory": [], "info": {}})
    assert not matches({"trajectory": [{"role": "user"}], "info": {}})
    assert not matches({"trajectory": [{"action": "x"}]})
