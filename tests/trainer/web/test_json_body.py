from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.web.json_body import check_json
from trainer.web.problem import WebError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=60)
@given(VALUES)
def test_json_as_it_should_be_passes(value):
    check_json(json.dumps(value).encode(), 100)
    check_json(json.dumps(value, ensure_ascii=False).encode("utf-8"), 100)


@settings(max_examples=80)
@given(st.binary(max_size=40) | st.text('{}[]",:0123456789eE+-.\\udD8aNI ', max_size=40).map(str.encode))
def test_any_bytes_pass_or_are_refused_and_what_passes_can_be_written_again(data):
    with suppress(WebError):
        check_json(data, 10)
        if data:
            json.dumps(json.loads(data), allow_nan=False, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b"[-Infinity]", "-Infinity is no JSON number"),
        (b"[1e999]", "too large"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "'c' is there twice"),
        (b'["\\ud83d"]', "surrogate"),
        (b'{"\\uDE00x": 1}', "surrogate"),
        (b'["\xff"]', "not UTF-8"),
        (b'{"a": }', "line 1, column 7"),
        (b"[" * 50_000, "nested deeper"),
        (b"[" * 9 + b"]" * 9, "nested deeper than 8"),
        (b'{"a":' * 9 + b"1" + b"}" * 9, "nested deeper than 8"),
        (b"[" + b"9" * 5_000 + b"]", "not JSON"),
    ],
)
def test_what_means_nothing_or_two_things_is_refused(body, why):
    with pytest.raises(WebError, match=why) as told:
        check_json(body, 8)
    assert (told.value.status, told.value.code) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'["\\ud83d\\ude00 \\\\ud83d"]',
        b"[" * 8 + b"]" * 8,
        b"[" + b"[]," * 100 + b"[]]",
        b'["[[[[[[[[[["]',
    ],
)
def test_what_only_looks_so_passes(body):
    check_json(body, 8)
