from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xpstore.hashing import ID_LENGTH, blob_id, canonical_json, content_id, mend, mended

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_the_bytes_of_a_value_do_not_depend_on_the_order_of_its_keys():
    assert canonical_json({"b": 1, "a": "退款"}) == '{"a":"退款","b":1}'.encode()


def test_what_json_cannot_say_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


@given(JSON)
def test_an_id_is_short_hex_and_always_the_same(value):
    assert content_id(value) == content_id(value)
    assert len(content_id(value)) == ID_LENGTH
    assert int(content_id(value), 16) >= 0


@pytest.mark.parametrize("text", ["", "one\n", "没有\r\n\0", "no end"])
def test_a_blob_id_is_gits(text, tmp_path):
    done = subprocess.run(
        ["git", "hash-object", "--stdin"], cwd=tmp_path, input=text.encode(), capture_output=True, check=True
    )
    assert blob_id(text) == done.stdout.decode().strip()


def test_no_file_has_the_id_of_nothing():
    assert blob_id(None) == "0" * 40


@given(st.text(st.sampled_from("ab退\ud83d\ude00\udcff\ud800"), max_size=8))
def test_mended_text_can_be_written_and_stays(text):
    mended = mend(text)
    assert mended.encode().decode() == mended == mend(mended)
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert mended == text


def test_two_halves_are_one_character_and_a_lone_one_is_replaced():
    assert mend("a\ud83d\ude00b\udcff\ud800c") == "a\U0001f600b\ufffd\ufffdc"


def test_all_texts_of_a_json_value_are_mended():
    assert mended({"a\ud800": ["\udc00", {"b": "ok"}, 1, None]}) == {
        "a\ufffd": ["\ufffd", {"b": "ok"}, 1, None]
    }
