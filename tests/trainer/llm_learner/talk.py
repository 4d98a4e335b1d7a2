"""Messages for the tests of what a model is shown."""

from __future__ import annotations

from trainer.domain import Message, TextPart, ToolPart


def say(role: str, text: str) -> Message:
    return Message(role=role, parts=(TextPart(text=text),))


def call(tool: str, arguments: object, output: str, status: str = "completed") -> Message:
    part = ToolPart.model_validate(
        {
            "tool_id": "1",
            "tool_name": tool,
            "tool_input": arguments,
            "tool_output": output,
            "tool_status": status,
        }
    )
    return Message(role="assistant", parts=(part,))
