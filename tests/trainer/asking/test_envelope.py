from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.asking.chat import ToolCall
from trainer.asking.envelope import EnvelopeError, read_embeddings, read_reply, reported

NAMES = ("choices", "message", "content", "tool_calls", "function", "usage", "data", "embedding", "error")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def reply(message: object, **more: object):
    return read_reply(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **more}))


def test_text_in_parts_is_one_text():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "?", {"type": "text", "text": "b"}]
    assert reply({"content": parts}).text == "ab"


def test_what_is_not_of_the_protocol_is_left_out():
    odd = reply({"content": 5, "refusal": [], "tool_calls": "none"}, usage=[], model=7)
    assert (odd.text, odd.refusal, odd.tool_calls, odd.prompt_tokens, odd.model) == ("", "", (), 0, "")
    assert reply({"content": "half \ud800"}).text == "half �"


def test_counts_that_are_none_are_zero():
    for count in (-1, 1.5, True, "9", None, 1 << 50):
        assert (
            reply({"content": ""}, usage={"prompt_tokens": count, "completion_tokens": 3}).prompt_tokens == 0
        )
    assert reply({"content": ""}, usage={"prompt_tokens": 2}).prompt_tokens == 2


def test_tool_calls_are_taken_as_they_come():
    calls = [
        {"id": "a", "function": {"name": "look", "arguments": "{not json"}},
        {"function": {"name": "look", "arguments": {"id": 1}}},
        {"function": {"name": "look"}},
        {"function": {"arguments": "{}"}},
        "?",
    ]
    assert reply({"tool_calls": calls}).tool_calls == (
        ToolCall(id="a", name="look", arguments="{not json"),
        ToolCall(id="call_1", name="look", arguments='{"id": 1}'),
        ToolCall(id="call_2", name="look", arguments="{}"),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "nothing"),
        (" \n", "nothing"),
        ("<html>", "a web page"),
        ("oops", "text that is not JSON"),
        ("[" * 100_000, "text that is not JSON"),
        ("[]", "JSON that is not an object"),
        ("{}", "an answer without choices"),
        ('{"choices": []}', "an answer without choices"),
        ('{"choices": [null]}', "an answer without choices"),
        ('{"choices": [{"message": null}]}', "an answer without choices"),
        ('{"choices": null, "error": {"message": "down"}}', "an answer without choices: down"),
        ('{"error": "down"}', "an answer without choices: down"),
    ],
)
def test_what_is_no_answer_is_told(text, problem):
    with pytest.raises(EnvelopeError) as caught:
        read_reply(text)
    assert str(caught.value) == problem


@settings(max_examples=80)
@given(JSON)
def test_any_json_is_an_answer_or_none(value):
    for read in (read_reply, lambda text: read_embeddings(text, 1), reported):
        with suppress(EnvelopeError):
            read(json.dumps(value))


def test_embeddings_are_put_in_order():
    data = [{"index": 1, "embedding": [3, 4.5]}, {"index": 0, "embedding": [1, 2]}]
    assert read_embeddings(json.dumps({"data": data}), 2) == [(1.0, 2.0), (3.0, 4.5)]
    unnumbered = [{"embedding": [1]}, {"embedding": [2]}]
    assert read_embeddings(json.dumps({"data": unnumbered}), 2) == [(1.0,), (2.0,)]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [{"embedding": [1]}],
        [{"embedding": [1]}, {"embedding": [1, 2]}],
        [{"embedding": []}, {"embedding": []}],
        [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}],
        [{"embedding": "AAAA"}, {"embedding": "AAAA"}],
        [{"embedding": [True]}, {"embedding": [None]}],
    ],
)
def test_embeddings_that_do_not_fit_are_none(data):
    with pytest.raises(EnvelopeError, match="without embeddings"):
        read_embeddings(json.dumps({"data": data}), 2)


def test_what_an_error_says():
    assert reported('{"error": {"message": "why"}}') == "why"
    assert reported('{"detail": "why"}') == "why"
    assert reported("<html>") == "<html>"
    assert reported('{"error": {}}') == '{"error": {}}'
