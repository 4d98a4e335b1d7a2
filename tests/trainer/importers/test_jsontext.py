import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.importers.jsontext import (
    MAX_TEXT,
    RecordError,
    as_list,
    as_number,
    as_object,
    clean,
    clean_text,
    decode_at,
    parse,
)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=10))
@settings(max_examples=50, deadline=None)
def test_json_comes_back(value):
    assert parse(f" \r\n{json.dumps(value)}\n") == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not valid JSON"),
        ('{"a": 1', "not valid JSON"),
        ('{"a": 1} {}', "more text after character 8"),
        ('{"a": NaN}', "nan is not a number in JSON"),
        ("[-Infinity]", "inf is not a number in JSON"),
        ("1e999", "inf is not a number in JSON"),
        ("9" * 5000, "^a number in it has thousands of digits$"),
        ("[" * 200 + "]" * 200, "nested deeper than 100 levels"),
        ("[" * 100_000 + "]" * 100_000, "nested deeper than 100 levels"),
        ('{"a":' * 100_000, "nested deeper than 100 levels"),
    ],
)
def test_what_cannot_be_carried_is_refused(text, why):
    with pytest.raises(RecordError, match=why):
        parse(text)


def test_lone_surrogates_are_replaced_and_pairs_kept():
    assert parse('{"a\\ud800": "x\\udc00y", "b": "\\ud83d\\ude00"}') == {"a\ufffd": "x\ufffdy", "b": "😀"}
    assert clean_text("é\ud800") == "é\ufffd"
    assert clean(["\udfff"]) == ["\ufffd"]


def test_decode_at_tells_where_the_value_ends():
    assert decode_at("x [1] y", 2) == ([1], 5)


def test_shapes_are_named_in_errors():
    assert as_number(True, "x") == 1.0
    for check, value in ((as_object, []), (as_list, {}), (as_number, "1"), (as_number, 10**400)):
        with pytest.raises(RecordError, match=r"^thing is"):
            check(value, "thing")


@pytest.mark.parametrize("size", [MAX_TEXT + 1, 3 * MAX_TEXT, 5_000_000])
def test_of_a_giant_text_beginning_and_end_are_kept(size):
    text = clean("a" * (size - 1) + "é")
    assert len(text) == MAX_TEXT
    assert text.startswith("aaa")
    assert text.endswith("aé")
    digest = hashlib.sha256(("a" * (size - 1) + "é").encode()).hexdigest()
    assert f"\n[cut: {size} characters, sha256 {digest}]\n" in text
    assert clean(text) == text
    assert clean("a" * MAX_TEXT) == "a" * MAX_TEXT
