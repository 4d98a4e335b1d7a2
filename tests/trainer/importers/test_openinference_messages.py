import json

import pytest

from tests.recordings import span, spoken
from trainer.importers.chat import read_messages
from trainer.importers.openinference import spans_of
from trainer.importers.openinference_messages import (
    arguments_of,
    calls_of,
    is_cut,
    messages_of,
    text_of,
    tool_run,
)

PARTS = [
    {
        "role": "user",
        "parts": [{"type": "text", "content": "Weather?"}, {"type": "uri", "uri": "https://x/y?key=1"}],
    },
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "hm"},
            {"type": "text", "content": "I look."},
            {"type": "tool_call", "id": "1", "name": "weather", "arguments": {"place": "Rome"}},
            {"type": "tool_call", "id": "2"},
        ],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": {"sky": "grey"}}]},
]


def one(**more):
    (found,) = spans_of({**span("x", "LLM"), **more})
    return found


def model(**attributes):
    return one(attributes={"openinference.span.kind": "LLM", **attributes})


def said(messages):
    return [
        (m.role, m.text, [(t.tool_name, t.tool_input, t.tool_output, t.tool_status) for t in m.tools])
        for m in read_messages(list(messages)).messages
    ]


def test_content_in_one_text_and_in_parts_is_the_same():
    turns = [
        ("user", "Go.", (), ""),
        ("assistant", "I go.", [("c", "walk", {"to": 1})], ""),
        ("tool", "ok", (), "c"),
    ]
    plain, parts = (model(**spoken("input", turns, contents=way)) for way in (False, True))
    assert said(messages_of(plain)[0]) == said(messages_of(parts)[0])
    assert said(messages_of(plain)[0]) == [
        ("user", "Go.", []),
        ("assistant", "I go.", [("walk", {"to": 1}, "ok", "completed")]),
    ]


def test_roles_media_thoughts_and_the_older_form_of_calls():
    place = "llm.output_messages.0.message."
    image = {"type": "image", "image.image.url": "data:image/png;base64," + "A" * 99}
    given, answer = messages_of(
        model(
            **{
                "llm.input_messages.0.message.role": "human",
                "llm.input_messages.0.message.contents": [
                    {f"message_content.{key}": value for key, value in image.items()},
                    {"message_content.type": "reasoning", "message_content.text": "hm"},
                ],
                f"{place}function_call_name": "walk",
                f"{place}function_call_arguments_json": '{"to": 2}',
            }
        )
    )
    ((role, text, _),) = said(given)
    assert (role, text.startswith("[image/png: ")) == ("user", True)
    assert said(answer) == [("assistant", "", [("walk", {"to": 2}, "", "pending")])]


@pytest.mark.parametrize("as_text", [True, False])
def test_messages_of_the_genai_conventions(as_text):
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.system_instructions": [{"type": "text", "content": "Be good."}],
        "gen_ai.input.messages": PARTS,
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Grey."}]}],
    }
    found = one(
        attributes={key: json.dumps(v) if as_text else v for key, v in told.items()}
        | {"gen_ai.operation.name": "chat"}
    )
    assert (found.kind, is_cut(found)) == ("LLM", False)
    assert said([m for part in messages_of(found) for m in part]) == [
        ("system", "Be good.", []),
        ("user", "Weather?\n[uri: https://x/y]", []),
        ("assistant", "I look.", [("weather", {"place": "Rome"}, '{"sky": "grey"}', "completed")]),
        ("assistant", "Grey.", []),
    ]


def test_a_model_of_which_only_input_and_output_are_known():
    found = messages_of(model(**{"input.value": "Go.", "output.value": {"to": 1}}))
    assert [text_of(m) for part in found for m in part] == ["Go.", '{"to": 1}']
    assert messages_of(model()) == ([], [])
    assert is_cut(model(**{"gen_ai.input.messages": '[{"role": "us\n[cut: 70000 characters'}))


def test_what_is_broken_in_a_message_is_left_out():
    found = model(
        **{
            "llm.input_messages": [
                5,
                None,
                "x",
                {"message.role": 7, "message.content": "a"},
                {"message": []},
            ],
            "llm.output_messages.0.message.tool_calls": [
                1,
                {"tool_call.id": {}},
                {"tool_call.function.name": ""},
            ],
            "gen_ai.output.messages": [{"parts": 3}, 4, {"role": "assistant", "parts": [5, {"type": None}]}],
        }
    )
    given, answer = messages_of(found)
    assert (said(given), answer) == ([("user", "a", [])], [])


def test_runs_of_tools():
    run = tool_run(
        one(attributes={"tool.name": "t", "tool_call.id": "c", "input.value": "x", "output.value": {"a": 1}})
    )
    assert (run.name, run.call, run.arguments, run.output, run.is_error) == ("t", "c", "x", '{"a": 1}', False)
    failed = tool_run(
        one(
            attributes={"gen_ai.tool.name": "g"},
            status={"code": 2},
            events=[{"name": "exception", "attributes": {"exception.message": "it broke"}}],
        )
    )
    assert (failed.name, failed.arguments, failed.output, failed.is_error) == ("g", None, "it broke", True)
    assert tool_run(one(name="walk", attributes={})).name == "walk"


@pytest.mark.parametrize(
    ("given", "found"),
    [('{"a": 1}', {"a": 1}), ("[1]", "[1]"), ("{'a': 1}", "{'a': 1}"), ({"a": 1}, {"a": 1}), ("", "")],
)
def test_arguments(given, found):
    assert arguments_of(given) == found
    assert calls_of({"tool_calls": [5, {"name": "x"}]}) == [{"name": "x"}]
