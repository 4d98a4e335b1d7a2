import pytest

from trainer.domain import TextPart, ToolPart
from trainer.importers.chat import read_messages
from trainer.importers.jsontext import RecordError


def call(tool_id, name="look", arguments='{"id": 1}'):
    return {"id": tool_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answer(tool_id, content, **more):
    return {"role": "tool", "tool_call_id": tool_id, "content": content, **more}


def tools(items):
    return [tool for message in read_messages(items).messages for tool in message.tools]


def outputs(items):
    return [(tool.tool_name, tool.tool_output, tool.tool_status) for tool in tools(items)]


def test_text_then_calls_in_one_message():
    chat = read_messages([{"role": "developer", "content": "be good"}, asks(call("a"), content="I look.")])
    assert [message.role for message in chat.messages] == ["system", "assistant"]
    assert chat.messages[1].parts == (
        TextPart(text="I look."),
        ToolPart(tool_id="a", tool_name="look", tool_input={"id": 1}, tool_status="pending"),
    )
    assert chat.extra == {}


def test_an_id_used_again_joins_in_order():
    items = [asks(call("a", "one")), answer("a", "1"), asks(call("a", "two")), answer("a", "2")]
    assert outputs(items) == [("one", "1", "completed"), ("two", "2", "completed")]


def test_an_unanswered_call_does_not_take_a_later_answer_of_the_same_id():
    items = [
        asks(call("a", "one")),
        {"role": "user", "content": "?"},
        asks(call("a", "two")),
        answer("a", "2"),
    ]
    assert outputs(items) == [("one", "", "pending"), ("two", "2", "completed")]


def test_parallel_calls_are_answered_in_any_order_and_equal_ids_in_order():
    items = [asks(call("a", "one"), call("b", "two")), answer("b", "2"), answer("a", "1")]
    assert outputs(items) == [("one", "1", "completed"), ("two", "2", "completed")]
    items = [asks(call("a", "one"), call("a", "two")), answer("a", "1"), answer("a", "2")]
    assert outputs(items) == [("one", "1", "completed"), ("two", "2", "completed")]


def test_the_older_function_call():
    items = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "done"},
    ]
    assert outputs(items) == [("f", "done", "completed")]


def test_parts_of_the_other_form():
    items = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": True}],
        },
    ]
    chat = read_messages(items)
    assert len(chat.messages) == 1
    assert chat.messages[0].tools[0].model_dump() == {
        "type": "tool",
        "tool_id": "t",
        "tool_name": "f",
        "tool_input": {"a": 1},
        "tool_output": "x",
        "tool_status": "error",
    }


def test_content_as_parts_and_pictures_as_placeholders():
    content = ["a", {"type": "text", "text": "b"}, {"type": "image_url", "image_url": {"url": "data:…"}}]
    assert read_messages([{"role": "user", "content": content}]).messages[0].text == "a\nb\n[image_url]"


def test_a_result_without_a_call_stays_as_text():
    chat = read_messages([answer("zz", "late")])
    assert (chat.messages[0].role, chat.messages[0].text, chat.messages[0].tools) == ("tool", "late", ())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        ("{broken", "{broken"),
        ("[1]", "[1]"),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
    ],
)
def test_arguments_are_an_object_or_the_raw_text(arguments, expected):
    assert tools([asks(call("a", arguments=arguments))])[0].tool_input == expected


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("Error: payment amount does not add up", "error"),
        ("ValueError: x", "error"),
        ('{"error": "no such user"}', "error"),
        ("Traceback (most recent call last):\n…", "error"),
        ('{"error": null, "user": 1}', "completed"),
        ("Errors are rare", "completed"),
        ("No Error: fine", "completed"),
        ("", "completed"),
    ],
)
def test_status_is_read_from_the_output(output, status):
    assert outputs([asks(call("a")), answer("a", output)])[0][2] == status


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"é": 1}, '{"é": 1}'),
    ],
)
def test_results_that_are_no_text(content, text):
    assert outputs([asks(call("a")), answer("a", content)])[0][1] == text


def test_unknown_keys_are_kept_by_message():
    chat = read_messages([{"role": "user", "content": "x", "ts": 5, "refusal": None, "name": "Mia"}])
    assert chat.extra == {"0": {"ts": 5, "name": "Mia"}}


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ({}, "messages is not a JSON array"),
        (["x"], r"messages\[0\] is not a JSON object"),
        ([{"content": "x"}], r"messages\[0\] has no role"),
        ([asks({"id": "a", "function": {}})], r"messages\[0\] calls a tool without a name"),
        ([asks("x")], "tool_calls is not a JSON object"),
        ([{"role": "user", "content": 5}], "content is not a JSON array"),
    ],
)
def test_a_broken_message_is_named(items, why):
    with pytest.raises(RecordError, match=why):
        read_messages(items)


@pytest.mark.parametrize("kind", [[], {}, None])
def test_content_of_an_odd_type_in_an_answer(kind):
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": "1", "content": [{"type": kind, "text": "x"}]}
    chat = read_messages([{"role": "assistant", "tool_calls": [call]}, answer], "messages")
    assert chat.messages[0].tools[0].tool_output
