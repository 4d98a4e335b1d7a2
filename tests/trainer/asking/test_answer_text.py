from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.asking.answer_text import find_object, is_bare, spoken

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PROSE = st.text(st.characters(exclude_characters="{}`~<"), max_size=40)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '\ufeff  {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        'Here:\n\n  ```\n  {"a": 1}\n  ```\nThat is it. {"b": "no"}',
        '~~~~ JSON\n{"a": 1}\n~~~~',
        'Sure {of course}: {"a": 1}. Is {that} right?',
        '<think>{"b": 2, "c": 3, "d": 4}</think>{"a": 1}',
        ' <THINKING>\nhm {\n</thinking>\n\n{"a": 1}',
        'perhaps {"b": 2, "c": 3}\n</think>\n\n{"a": 1}',
        '{"a": 1}{}',
        '{} {\n"a": 1}',
        '```python\nprint("hi")\n```\nso: {"a": 1}',
        '{"a": 1}\n```',
    ],
)
def test_an_object_is_found(text):
    assert find_object(text) == {"a": 1}


def test_an_object_with_something_around_it_is_told():
    assert [is_bare(text) for text in (' {"a": 1}\n', '```\n{"a": 1}\n```', '{"a": 1} so', "")] == [True] + [
        False
    ] * 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" Hello.\n", "Hello."),
        ("<think>They want it.\n</think>\nHello.", "Hello."),
        ("They want it.\n</think>\n\nHello.", "Hello."),
        ("<think>They want", ""),
        ("<THINKING>a</thinking>", ""),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
        ("Write </think> where it ends.", "Write </think> where it ends."),
    ],
)
def test_what_was_thought_aloud_is_not_said(text, said):
    assert spoken(text) == said


def test_line_breaks_may_stand_in_strings():
    assert find_object('{"a": "one\ntwo\tthree"}') == {"a": "one\ntwo\tthree"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "there is no JSON object"),
        ("nothing {here}", "there is no JSON object"),
        ("[1, 2]", "it is JSON, but not an object|the answer is JSON, but not an object"),
        ('"text"', "not an object"),
        ('{"a": [{"b": 1}, {"b": 2}', "cannot be read"),
        ('{"a": {"b": 1}, "c": }', "cannot be read"),
        ('```json\n{"a": {"b": 1}', "cannot be read"),
        ("{" * 10_000, "there is no JSON object|cannot be read"),
        ('{"a":' * 10_000, "nested too deeply|cannot be read"),
        ('{"a": ' + "1" * 5_000 + "}", "cannot be read"),
    ],
)
def test_what_is_cut_or_none_is_not_read_in_part(text, problem):
    with pytest.raises(ValueError, match=problem):
        find_object(text)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4), PROSE, PROSE, st.booleans())
def test_whatever_stands_around_it_the_object_is_the_same(value, before, after, is_fenced):
    written = json.dumps(value)
    fenced = f"\n```json\n{written}\n```\n" if is_fenced else f" {written} "
    assert find_object(f"{before}{fenced}{after}") == value


@settings(max_examples=60)
@given(st.text(max_size=80))
def test_any_text_is_an_object_or_told(text):
    with suppress(ValueError):
        assert isinstance(find_object(text), dict)
