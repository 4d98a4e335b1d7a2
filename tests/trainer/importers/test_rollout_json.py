import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.domain import Case, Message, Rollout, Rubric, RubricCriterion, TextPart, ToolPart
from trainer.importers.jsontext import RecordError, parse
from trainer.importers.rollout_json import matches, read
from trainer.importers.scoring import reward_evaluation
from xpstore.hashing import canonical_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
PARTS = st.one_of(
    st.builds(TextPart, text=TEXT),
    st.builds(
        ToolPart,
        tool_id=TEXT,
        tool_name=TEXT,
        tool_input=OBJECT | TEXT,
        tool_output=TEXT,
        tool_status=st.sampled_from(["completed", "error", "pending"]),
    ),
)
MESSAGES = st.builds(
    Message, role=st.sampled_from(["user", "assistant"]), parts=st.lists(PARTS, max_size=3).map(tuple)
)
CASES = st.builds(
    Case,
    name=TEXT,
    task_signature=TEXT,
    input=OBJECT,
    metadata=OBJECT,
    rubric=st.builds(
        Rubric, name=TEXT, criteria=st.lists(st.builds(RubricCriterion, name=TEXT), max_size=2).map(tuple)
    ),
)
ROLLOUTS = st.builds(
    Rollout,
    case=CASES,
    messages=st.lists(MESSAGES, min_size=1, max_size=4).map(tuple),
    policy_snapshot_id=TEXT,
    evaluation=st.none() | st.floats(-1, 2).map(lambda score: reward_evaluation(score, "test")),
    metadata=OBJECT,
)


@given(ROLLOUTS)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_again(rollout):
    record = parse(canonical_json(rollout.model_dump(mode="json")).decode())
    assert matches(record)
    again = read(record)
    assert again == rollout
    assert again.id == rollout.id


def answer(**changes):
    """The completed answer of RFC §15.6.3."""
    rollout = {
        "case": {"name": "c", "input": {}, "rubric": {"name": "r", "criteria": []}, "owner": "me"},
        "messages": [
            {"role": "user", "parts": [{"type": "text", "text": "hi"}], "created_at": "now"},
            {
                "role": "assistant",
                "parts": [
                    {
                        "type": "tool",
                        "tool_id": "tau2-tool-0",
                        "tool_name": "get",
                        "tool_input": {"id": "E"},
                        "tool_output": "…",
                        "tool_status": "running",
                        "duration_ms": 3,
                    },
                    {"type": "context", "uri": "viking://x"},
                ],
            },
        ],
        "policy_snapshot_id": "s",
        "evaluation": {"passed": False, "score": 0.0, "criterion_results": [], "feedback": ["no"]},
        "metadata": {"iterations": 6},
        **changes,
    }
    return {"execution_id": "rollout_exec_1", "status": "completed", "error": None, "rollout": rollout}


def test_the_answer_of_a_service_with_unknown_keys_kept():
    assert matches(answer())
    rollout = read(answer())
    assert rollout.tools[0].tool_status == "pending"
    assert rollout.metadata == {
        "iterations": 6,
        "unknown": {
            "case.owner": "me",
            "messages[0].created_at": "now",
            "messages[1].parts[0].duration_ms": 3,
            "messages[1].parts[1]": {"type": "context", "uri": "viking://x"},
        },
    }
    assert read(json.loads(rollout.model_dump_json())) == rollout


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (answer(case=None), r"the rollout has no case; every rollout needs one \(execution rollout_exec_1\)"),
        ({"messages": [{"role": "user", "parts": []}]}, "the rollout has no case"),
        ({"execution_id": "e", "status": "failed", "error": "boom"}, "status failed, error boom"),
        (
            answer(messages=[{"role": "user", "parts": [{"type": "text", "text": 5}]}]),
            r"messages\.0\.parts\.0.*string",
        ),
        (answer(messages="x"), "messages: Input should be"),
        (answer(messages=[{"parts": "x"}]), "not a valid rollout"),
        (answer(evaluation={"passed": True}), r"evaluation\.score: Field required"),
        (answer(metadata=[1]), "metadata is not a JSON object"),
    ],
)
def test_broken_rollouts_are_named(record, why):
    assert matches(record)
    with pytest.raises(RecordError, match=why):
        read(record)


def test_chat_messages_are_left_to_another_format():
    assert not matches({"messages": [{"role": "user", "content": "x"}], "case": {}})
    assert not matches({"messages": "x"})
    assert matches({"messages": [], "policy_snapshot_id": "", "case": {}})


@pytest.mark.parametrize("kind", [[], {}, None, 7])
def test_a_part_of_an_odd_type_is_unknown(kind):
    part = {"type": kind, "text": "x"}
    message = {"role": "user", "parts": [part]}
    rollout = read({"case": {"name": "c", "rubric": {"name": "r"}}, "messages": [message]})
    assert rollout.messages[0].parts == ()
    assert rollout.metadata["unknown"] == {"messages[0].parts[0]": part}
