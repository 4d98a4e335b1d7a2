from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from trainer.domain import TextPart, ToolPart
from trainer.service.session_errors import InvalidRequestError
from trainer.service.session_messages import DEEPEST, WireMessage, to_messages, tokens_in

TEXT = st.text(st.characters() | st.sampled_from("\ud800\udfff\x00\x1b"), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda x: st.lists(x) | st.dictionaries(TEXT, x),
    max_leaves=4,
)
PARTS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}),
    st.fixed_dictionaries({"type": st.just("context"), "uri": TEXT, "abstract": TEXT}),
    st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": TEXT})}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool"),
            "tool_name": TEXT,
            "tool_input": JSON,
            "tool_output": TEXT,
            "unknown": JSON,
        },
        optional={"tool_status": st.sampled_from(["pending", "running", "completed", "error"])},
    ),
)


def stored(**row):
    return WireMessage.model_validate(row).stored("m1", "now")


@settings(max_examples=25, deadline=None)
@given(st.lists(PARTS, max_size=4))
def test_whatever_was_said_is_kept_as_text_that_any_file_can_hold(parts):
    row = stored(role="assistant", parts=parts)
    text = json.dumps(row, ensure_ascii=False)
    assert json.loads(text.encode()) == row
    (message,) = to_messages([row])
    assert len(message.parts) == len(parts)
    assert tokens_in(row) >= 1


def test_the_short_form_is_one_text():
    assert stored(role="user", content="Hi")["parts"] == [{"type": "text", "text": "Hi"}]
    assert stored(role="user", content="Hi", created_at="then")["created_at"] == "then"


def test_parts_become_the_trainers():
    row = stored(
        role="assistant",
        parts=[
            {"type": "text", "text": "Let me look."},
            {"type": "tool", "tool_id": "t", "tool_name": "look", "tool_input": {"a": 1}, "tool_output": "x",
             "tool_status": "error", "duration_ms": 3.5},
            {"type": "tool", "tool_name": "wait", "tool_status": "running", "tool_output": {"a": [1]}},
            {"type": "context", "uri": "viking://x", "abstract": "What is known"},
            {"type": "image_url", "image_url": {"url": "data:…"}},
        ],
    )  # fmt: skip
    (message,) = to_messages([row])
    assert message.parts == (
        TextPart(text="Let me look."),
        ToolPart(tool_id="t", tool_name="look", tool_input={"a": 1}, tool_output="x", tool_status="error"),
        ToolPart(tool_id="", tool_name="wait", tool_output='{"a": [1]}', tool_status="pending"),
        TextPart(text="[memory] viking://x What is known"),
        TextPart(text="[image]"),
    )


def nested(depth):
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "row",
    [
        {"role": "user"},
        {"role": "", "content": "x"},
        {"role": "x" * 65, "content": "x"},
        {"role": "user", "parts": [{"type": "video"}]},
        {"role": "user", "parts": [{"type": "text", "text": ""}] * 1_001},
        {"role": "user", "parts": [{"type": "tool", "tool_status": "lost"}]},
        {"role": "user", "parts": [{"type": "tool", "tool_input": nested(DEEPEST + 1)}]},
        {"role": "user", "parts": [{"type": "tool", "duration_ms": float("nan")}]},
        {"role": "user", "content": "x", "id": "x" * 257},
    ],
)
def test_what_is_no_message_is_refused(row):
    with pytest.raises(ValidationError):
        WireMessage.model_validate(row)


def test_a_message_on_record_that_is_damaged_is_told():
    with pytest.raises(InvalidRequestError, match="damaged"):
        to_messages([{"role": "user", "parts": [{"type": "?"}]}])
