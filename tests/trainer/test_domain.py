from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.trainer.doubles import rollout
from trainer.domain import Message, Rollout, TextPart, ToolPart

RFC_MESSAGE = {
    "role": "assistant",
    "parts": [
        {"type": "text", "text": "one moment"},
        {
            "type": "tool",
            "tool_id": "tau2-tool-0",
            "tool_name": "get_reservation_details",
            "tool_input": {"reservation_id": "EHGLP3"},
            "tool_output": "...",
            "tool_status": "completed",
        },
    ],
}


def test_messages_have_the_json_of_the_rfc():
    message = Message.model_validate(RFC_MESSAGE)
    assert message.model_dump(mode="json") == RFC_MESSAGE
    assert message.text == "one moment"
    assert [t.tool_name for t in message.tools] == ["get_reservation_details"]


def test_an_unknown_part_is_an_error():
    with pytest.raises(ValidationError):
        Message.model_validate({"role": "user", "parts": [{"type": "smell"}]})


def test_a_rollout_id_names_the_content():
    assert rollout("a").id == Rollout.model_validate_json(rollout("a").model_dump_json()).id
    assert rollout("a").id != rollout("a", trial=1).id
    assert rollout("a").id != rollout("a", passed=False).id


def test_values_cannot_be_changed():
    part = TextPart(text="x")
    with pytest.raises(ValidationError):
        part.text = "y"
    assert ToolPart(tool_id="1", tool_name="t").tool_status == "completed"
