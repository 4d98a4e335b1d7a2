from __future__ import annotations

import pytest

from trainer.domain import TextPart, ToolPart
from trainer.environments.tau2.messages import conversation_of
from trainer.errors import ComponentError


def call(
    name: str, call_id: str = "c", requestor: str = "assistant", **arguments: object
) -> dict[str, object]:
    return {"id": call_id, "name": name, "arguments": arguments, "requestor": requestor}


def answer(
    text: str, call_id: str = "c", requestor: str = "assistant", *, error: bool = False
) -> dict[str, object]:
    return {"role": "tool", "id": call_id, "content": text, "requestor": requestor, "error": error}


def test_calls_of_both_sides_have_their_results_and_who_called_is_kept():
    talk = conversation_of(
        [
            {"role": "assistant", "content": "Hi!"},
            {"role": "user", "content": "No service."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call("look", line="L1"), call("read", "d")],
            },
            answer("found"),
            answer("not there", "d", error=True),
            {"role": "user", "content": None, "tool_calls": [call("reboot", requestor="user")]},
            answer("rebooted", requestor="user"),
        ]
    )
    assert [m.role for m in talk.messages] == ["assistant", "user", "assistant", "user"]
    assert [m.parts for m in talk.messages][2:] == [
        (
            ToolPart(tool_id="tau2-tool-0", tool_name="look", tool_input={"line": "L1"}, tool_output="found"),
            ToolPart(tool_id="tau2-tool-1", tool_name="read", tool_output="not there", tool_status="error"),
        ),
        (ToolPart(tool_id="tau2-tool-2", tool_name="reboot", tool_output="rebooted"),),
    ]
    assert talk.callers == {"tau2-tool-0": "assistant", "tau2-tool-1": "assistant", "tau2-tool-2": "user"}
    assert talk.tools_used == ["look", "read"]
    assert talk.iterations == 2


def test_an_id_that_a_model_uses_twice_means_two_calls():
    talk = conversation_of(
        [
            {"role": "assistant", "content": None, "tool_calls": [call("a")]},
            answer("first"),
            {"role": "assistant", "content": None, "tool_calls": [call("b")]},
            answer("second"),
        ]
    )
    assert [t.tool_output for m in talk.messages for t in m.tools] == ["first", "second"]


def test_a_call_without_a_result_is_pending():
    talk = conversation_of([{"role": "assistant", "content": "One moment", "tool_calls": [call("a")]}])
    assert talk.messages[0].parts == (
        TextPart(text="One moment"),
        ToolPart(tool_id="tau2-tool-0", tool_name="a", tool_status="pending"),
    )


def test_a_role_that_there_is_not():
    with pytest.raises(ComponentError, match="'system'"):
        conversation_of([{"role": "system", "content": "x"}])
