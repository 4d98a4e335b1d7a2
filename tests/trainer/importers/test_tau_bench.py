import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from trainer.importers import read_rollouts
from trainer.importers.jsontext import RecordError
from trainer.importers.tau_bench import matches, read

DATA = Path(__file__).parents[4] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.tasks-0-39.json"
needs_data = pytest.mark.skipif(not DATA.is_file(), reason="the recorded tau-bench runs are not here")

TASK = {
    "user_id": "u_1",
    "instruction": "Book it.",
    "actions": [{"name": "book", "kwargs": {"id": 1}}],
    "outputs": ["5"],
}


def record(**changes):
    info = {"task": TASK, "source": "user", "user_cost": 0.01, "reward_info": {"reward": 1.0, "actions": [1]}}
    traj = [{"role": "user", "content": "hi"}]
    return {"task_id": 3, "reward": 1.0, "info": info, "traj": traj, "trial": 2, "seed": 7, **changes}


def test_a_result_becomes_a_rollout():
    assert matches(record())
    rollout = read(record())
    assert rollout.case.name.startswith("tau_bench_3_")
    assert rollout.case.input == {
        "user_id": "u_1",
        "outputs": ["5"],
        "task_id": 3,
        "user_query": "Book it.",
        "expected_actions": [{"name": "book", "arguments": {"id": 1}}],
    }
    assert [(c.name, c.required) for c in rollout.case.rubric.criteria] == [("reward", True)]
    assert rollout.evaluation.passed
    assert rollout.evaluation.metadata["reward_info"] == {"reward": 1.0}
    assert rollout.metadata == {
        "source": "tau-bench",
        "task_id": 3,
        "trial": 2,
        "seed": 7,
        "user_cost": 0.01,
        "last_source": "user",
    }


def test_the_case_has_nothing_of_the_trial():
    first, second = (
        read(record()),
        read(record(trial=3, reward=0.0, traj=[{"role": "user", "content": "yo"}])),
    )
    assert first.case == second.case
    assert first.id != second.id
    other = {"task": {**TASK, "instruction": "Another domain's third task."}}
    assert read(record(info=other)).case.name != first.case.name


def test_a_run_that_was_not_scored_says_so():
    info = {"task": TASK, "reward_info": None}
    evaluation = read(record(reward=0.0, info=info)).evaluation
    assert evaluation.feedback == ("The run ended before the environment scored it.",)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"info": {"error": "503", "traceback": "…"}, "traj": []}, "the run crashed and was not scored: 503"),
        ({"reward": None}, "reward is not a number"),
        ({"traj": []}, "traj is empty"),
        ({"info": {}}, "info.task is not a JSON object"),
        ({"info": {"task": {"actions": [1]}}}, "info.task.actions is not a JSON object"),
    ],
)
def test_broken_results(changes, why):
    with pytest.raises(RecordError, match=why):
        read(record(**changes))


@needs_data
def test_real_runs_keep_every_message_call_and_result():
    raw = json.loads(DATA.read_text())
    result = read_rollouts([DATA])
    assert len(result.rollouts) == len(raw) == 160
    assert (result.problems, result.duplicates, result.formats) == ((), (), {"tau-bench": 160})
    for source, rollout in zip(raw, result.rollouts, strict=True):
        traj = source["traj"]
        turns = [m for m in traj if m["role"] != "tool"]
        assert [m.role for m in rollout.messages] == [m["role"] for m in turns]
        assert [m.text for m in rollout.messages] == [m["content"] or "" for m in turns]
        # each call is followed by its own result in these files
        pairs = [
            (call["function"]["name"], json.loads(call["function"]["arguments"]), after["content"])
            for before, after in pairwise(traj)
            for call in before.get("tool_calls") or ()
        ]
        assert [(t.tool_name, t.tool_input, t.tool_output) for t in rollout.tools] == pairs
        assert rollout.evaluation.passed is (source["reward"] == 1.0)
        assert rollout.metadata["trial"] == source["trial"]
        assert rollout.metadata["user_cost"] == source["info"]["user_cost"]
    statuses = Counter(tool.tool_status for rollout in result.rollouts for tool in rollout.tools)
    errors = sum(m["role"] == "tool" and m["content"].startswith("Error") for s in raw for m in s["traj"])
    assert statuses == {"completed": 1039 - errors, "error": errors}
    assert len({rollout.case.id for rollout in result.rollouts}) == 40
    assert len({rollout.case.name for rollout in result.rollouts}) == 40
