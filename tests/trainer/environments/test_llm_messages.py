from __future__ import annotations

import json

import pytest

from tests.trainer.offline.world import say
from trainer.asking.chat import ChatReply, ToolCall
from trainer.domain import Message, TextPart, ToolPart
from trainer.environments.agent import ToolSchema
from trainer.environments.llm_messages import MOST_CALLS, chat_messages, read_reply

TOOL = ToolSchema(name="get_order", description="Read an order.", parameters={"type": "object"})


def acted(*parts: ToolPart | TextPart) -> Message:
    return Message(role="assistant", parts=parts)


def called(number: int, arguments: object, output: str = "Done.") -> ToolPart:
    return ToolPart(tool_id=f"call-{number}", tool_name="get_order", tool_input=arguments, tool_output=output)


TALK = [
    say("system", "It is noon."),
    say("system", "# Pages"),
    say("user", "My order?"),
    acted(
        TextPart(text="One moment."), called(1, {"order_id": "O1"}), called(2, '{"order_id": ', "Error: no.")
    ),
    acted(TextPart(text="Shall I?")),
    say("user", "Yes."),
]


def test_calls_and_their_answers_are_messages_of_the_protocol():
    system, user, assistant, first, second, asks, yes = chat_messages("Do it.", TALK, [TOOL], "calls")
    assert (system.role, system.content) == ("system", "Do it.\n\nIt is noon.\n\n# Pages")
    assert (user.role, user.content) == ("user", "My order?")
    assert (assistant.role, assistant.content) == ("assistant", "One moment.")
    assert [(c.id, c.name, json.loads(c.arguments)) for c in assistant.tool_calls] == [
        ("call-1", "get_order", {"order_id": "O1"}),
        ("call-2", "get_order", {"unreadable": '{"order_id": '}),  # endpoints refuse what is no JSON
    ]
    assert (first.role, first.tool_call_id, first.content) == ("tool", "call-1", "Done.")
    assert (second.role, second.tool_call_id, second.content) == ("tool", "call-2", "Error: no.")
    assert (asks.role, asks.tool_calls, yes.role) == ("assistant", (), "user")


def test_in_text_the_tools_stand_in_the_instructions_before_the_pages():
    system, user, assistant, answers, asks, yes = chat_messages("Do it.", TALK, [TOOL], "text")
    assert system.content.index("It is noon.") < system.content.index('"get_order"')
    assert system.content.index('"get_order"') < system.content.index("# Pages")
    assert [m.role for m in (user, assistant, answers, asks, yes)] == [
        *("user", "assistant", "user", "assistant", "user"),
    ]
    assert not any(m.tool_calls or m.tool_call_id for m in (user, assistant, answers, asks, yes))
    assert answers.content == "get_order answers:\nDone.\n\nget_order answers:\nError: no."
    # what a model is shown of its own calls is what it is to write
    read = read_reply(ChatReply(text=assistant.content), 1)
    assert read.text == "One moment."
    assert [p.tool_input for p in read.tools] == [{"order_id": "O1"}, {"unreadable": '{"order_id": '}]


def test_a_conversation_may_begin_without_instructions_of_the_place():
    system, user = chat_messages("Do it.", [say("user", "Hello.")], [TOOL], "text")
    assert system.content.startswith("Do it.\n\nThe tools")
    assert user.content == "Hello."
    assert chat_messages("Do it.", [], [], "calls")[0].content == "Do it."


def test_tool_calls_are_pending_and_numbered_anew():
    calls = [ToolCall(id="x9Zq", name="get_order", arguments='{"order_id": "O1"}')] * 2
    found = read_reply(ChatReply(text=" Let me see. ", tool_calls=tuple(calls)), 4)
    assert found.role == "assistant"
    assert found.text == "Let me see."
    assert [(p.tool_id, p.tool_name, p.tool_input, p.tool_status) for p in found.tools] == [
        ("call-4", "get_order", {"order_id": "O1"}, "pending"),
        ("call-5", "get_order", {"order_id": "O1"}, "pending"),
    ]


DEEP = '{"a": ' + "[" * 200 + "]" * 200 + "}"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("", {}),
        (" \n", {}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ('{"order_id": "O1"', '{"order_id": "O1"'),
        ("[1, 2]", "[1, 2]"),
        ('"O1"', '"O1"'),
        ("O1", "O1"),
        ('{"a": ' * 100_000, '{"a": ' * 100_000),
        (DEEP, DEEP),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": [1e999]}', '{"a": [1e999]}'),
        ('{"a\\udfff": "\\ud83d\\ude00 \\ud800"}', {"a\ufffd": "😀 \ufffd"}),
        ('{"a": "\ud800"', '{"a": "\ufffd"'),
    ],
    ids=lambda value: str(value)[:20],
)
def test_arguments_that_are_no_object_stay_text(written, read):
    reply = ChatReply(tool_calls=(ToolCall(id="1", name="get_order", arguments=written),))
    assert read_reply(reply, 1).tools[0].tool_input == read


CALL = {"name": "get_order", "arguments": {"order_id": "O1"}}
FENCED = f"```json\n{json.dumps(CALL)}\n```"


@pytest.mark.parametrize(
    ("text", "said", "count"),
    [
        (FENCED, "", 1),
        (f"I look it up.\n\n{FENCED}\nDone soon!", "I look it up.", 1),
        (f"{FENCED}\n{FENCED}", "", 2),
        (json.dumps(CALL), "", 1),
        (json.dumps([CALL, CALL]), "", 2),
        (f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>", "", 1),
        (json.dumps({"name": "get_order", "parameters": CALL["arguments"]}), "", 1),
        (json.dumps({"tool": "get_order", "args": CALL["arguments"]}), "", 1),
        (json.dumps({"type": "function", "function": CALL}), "", 1),
        (json.dumps({"function": "get_order", "arguments": json.dumps(CALL["arguments"])}), "", 1),
        (json.dumps({"tool_calls": [{"function": CALL}, {"function": CALL}]}), "", 2),
        (f"{{see: {json.dumps(CALL)}", "{see:", 1),
    ],
)
def test_calls_that_are_written_as_text_are_calls(text, said, count):
    found = read_reply(ChatReply(text=text), 1)
    assert found.text == said
    assert [(p.tool_name, p.tool_input) for p in found.tools] == [("get_order", {"order_id": "O1"})] * count


@pytest.mark.parametrize(
    "text",
    [
        "Your order {O1} is on its way.",
        '{"answer": "It is done."}',
        '{"name": "Ada"}',
        '{"name": 3, "arguments": {}}',
        '{"arguments": {"order_id": "O1"}}',
        "```json\n{broken\n```",
        "{" * 5_000,
        f'{{"name": "get_order", "arguments": {DEEP}}}',
        '{"name": "get_order", "arguments": {"amount": NaN}}',
        '{"function": ' * 300 + json.dumps(CALL) + "}" * 300,
        '{"tool_calls": [' * 300 + json.dumps(CALL) + "]}" * 300,
    ],
    ids=lambda text: text[:40],
)
def test_other_text_is_what_the_agent_says(text):
    found = read_reply(ChatReply(text=text), 1)
    assert (found.text, found.tools) == (text, ())


def test_a_call_that_was_only_thought_of_is_none():
    """Models think aloud in tags, and weigh calls that they do not make."""
    thought = f"<think>I could cancel: {json.dumps(CALL)} or ask.</think>\n"
    found = read_reply(ChatReply(text=f"{thought}Shall I cancel it?"), 1)
    assert (found.text, found.tools) == ("Shall I cancel it?", ())
    assert [p.tool_name for p in read_reply(ChatReply(text=thought + FENCED), 1).tools] == ["get_order"]
    assert read_reply(ChatReply(text=thought.removesuffix("</think>\n")), 1).parts == ()


def test_a_refusal_is_said_and_silence_is_silence():
    assert read_reply(ChatReply(refusal="I will not."), 1).text == "I will not."
    assert read_reply(ChatReply(), 1).parts == ()


def test_a_model_that_runs_wild_is_cut_off():
    calls = (ToolCall(id="1", name="get_order", arguments="{}"),) * 50
    assert len(read_reply(ChatReply(tool_calls=calls), 1).tools) == MOST_CALLS
