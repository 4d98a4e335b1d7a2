import pytest

from tests.recordings import atif, step
from trainer.importers.atif import SIDE, TASK, joined, matches, read
from trainer.importers.form import Flaw
from trainer.importers.jsontext import RecordError


def only(record):
    (found,) = read(record)
    return found


def said(rollout):
    return [
        (m.role, m.text, [(t.tool_name, t.tool_output, t.tool_status) for t in m.tools])
        for m in rollout.messages
    ]


def test_steps_with_calls_and_results_in_any_order():
    found = only(atif())
    assert said(found.rollout) == [
        ("system", "Be good.", []),
        ("user", "List the files.", []),
        ("assistant", "I look.", [("bash", "a b", "completed"), ("bash", "Error: no such file", "error")]),
        ("assistant", "Done.", [("finish", "", "pending")]),
    ]
    assert found.keys == ("t-1", "s-1")
    assert found.rollout.case.input == {"user_query": "List the files."}
    assert found.rollout.evaluation is None
    metadata = found.rollout.metadata
    assert metadata["agent"] == {"name": "harness", "version": "1", "model_name": "m"}
    assert metadata["messages"] == {"2": {"reasoning_content": "hm"}}


def test_a_task_that_is_named_and_a_reward_where_writers_put_them():
    rollout = only(atif(extra={"task_name": "hello", "reward": 0.5})).rollout
    assert (rollout.case.name, rollout.evaluation.score) == ("hello", 0.5)
    assert only(atif(final_metrics={"extra": {"reward": True}})).rollout.evaluation.passed


def test_an_unknown_version_is_read_with_a_warning():
    for version in ("ATIF-v2.0", None, ["x"]):
        flaw, found = read(atif(schema_version=version))
        assert isinstance(flaw, Flaw)
        assert flaw.kind == "warning"
        assert len(found.rollout.messages) == 4


def test_a_side_agent_speaks_where_it_was_called_and_once():
    side = atif(trajectory_id="side", steps=[step("user", "Look."), step("agent", "I did.")])
    ref = {"source_call_id": "c1", "content": "ok", "subagent_trajectory_ref": [{"trajectory_id": "side"}]}
    called = step(
        "agent", "Go.", [("c1", "task", {}), ("c2", "task", {})], [ref, {**ref, "source_call_id": "c2"}]
    )
    rollout = only(atif(steps=[called, step("agent", "End.")], subagent_trajectories=[side])).rollout
    assert [(m.role, m.text) for m in rollout.messages] == [
        ("assistant", "Go."),
        (TASK, "Look."),
        (SIDE, "I did."),
        ("assistant", "End."),
    ]
    assert [t.tool_output for t in rollout.messages[0].tools] == ["ok", "ok"]
    unnamed = only(atif(steps=[step("agent", "End.")], subagent_trajectories=[side])).rollout
    assert [m.role for m in unnamed.messages] == ["assistant", TASK, SIDE]


def test_side_agents_within_side_agents_end_somewhere():
    side = atif(trajectory_id="x", steps=[step("agent", "deep")])
    for _ in range(30):
        side = atif(trajectory_id="x", steps=[step("agent", "deep")], subagent_trajectories=[side])
    assert len(only(side).rollout.messages) < 12


def test_what_is_recorded_apart_is_named_and_no_path_is_followed():
    ref = {"subagent_trajectory_ref": [{"trajectory_path": "../../etc/passwd"}]}
    rollout = only(atif(steps=[step("system", "Handoff.", (), [ref])])).rollout
    assert rollout.messages[1].text == "[side agents, recorded apart: ../../etc/passwd]"


def test_a_continuation_repeats_nothing():
    again = step("user", "List the files.", is_copied_context=True)
    rollout = joined([atif(), atif(steps=[again, step("agent", "More.")], trajectory_id="t-2")]).rollout
    assert [m.text for m in rollout.messages] == ["Be good.", "List the files.", "I look.", "Done.", "More."]
    assert rollout.metadata["continued"][0]["trajectory_id"] == "t-2"
    assert joined([atif(steps=[again])]).rollout.messages[0].text == "List the files."


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([], "steps is empty"),
        (["x"], r"steps\[0\] is not a JSON object"),
        ([{"message": "x"}], r"steps\[0\] has no source"),
        ([step("agent", "x", [("c", None, {})])], "calls a tool without a name"),
        ([{**step("agent", "x"), "observation": {"results": 5}}], "results is not a JSON array"),
    ],
)
def test_broken_trajectories(steps, why):
    with pytest.raises(RecordError, match=why):
        list(read(atif(steps=steps)))


def test_what_it_is_told_by():
    assert matches({"steps": [], "agent": {}})
    assert not matches({"steps": []})
    assert not matches({"schema_version": "ATIF-v1.7"})
