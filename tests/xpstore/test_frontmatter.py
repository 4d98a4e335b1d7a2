from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore.errors import DocumentError
from xpstore.frontmatter import MAX_DEPTH, dump, entries, load, locate, splice, split

SOURCE = """\
# who and when
name: refund  # short
description: >
  Use when a customer
  wants money back

# topics
tags:
- money
- 退款
# below the tags
owner: {name: "Ann", since: 2024-01-02}
steps: |
  one

  two
'quoted key': 'it''s'
empty:
last: [1,
  2]  # end
# the end
"""


@pytest.mark.parametrize(
    ("text", "source", "body"),
    [
        ("---\na: 1\n---\nbody\n", "a: 1\n", "body\n"),
        ("---\r\na: 1\r\n---\r\nbody\r\n", "a: 1\r\n", "body\r\n"),
        ("---  \na: 1\n...\nbody", "a: 1\n", "body"),
        ("\ufeff---\na: 1\n---\n", "a: 1\n", ""),
        ("---\n---\nbody", "", "body"),
        ("---\n# only a comment\n---\n", "# only a comment\n", ""),
        ("---\na: 1\n---", "a: 1\n", ""),
        ("---\n{a: 1}\n---\n", "{a: 1}\n", ""),
        ("---\n<<<<<<< HEAD\nx\n---\n", "<<<<<<< HEAD\nx\n", ""),
        ("body\n---\na: 1\n---\n", None, "body\n---\na: 1\n---\n"),
        ("---\n\nA rule, then prose.\n\n---\n", None, "---\n\nA rule, then prose.\n\n---\n"),
        ("---\nprose\n", None, "---\nprose\n"),
        ("----\na: 1\n---\n", None, "----\na: 1\n---\n"),
        ("", None, ""),
        ("---\na: |\n  ---\n---\nb", "a: |\n  ---\n", "b"),
    ],
)
def test_split(text, source, body):
    assert split(text) == (source, body)


def test_front_matter_that_is_never_closed_is_an_error():
    with pytest.raises(DocumentError, match=r"x\.md: front matter is not closed") as caught:
        split("---\nname: x\n\n## Approach\n", "x.md")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("a: yes\nb: no\nc: on", {"a": "yes", "b": "no", "c": "on"}),
        ("a: true\nb: False\nc: null\nd: ~\ne:", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        (
            "a: 2024-01-02\nb: 2024-01-02T03:04:05Z\nc: 1:30",
            {"a": "2024-01-02", "b": "2024-01-02T03:04:05Z", "c": "1:30"},
        ),
        (
            "a: 12\nb: -3\nc: 007\nd: 1_000\ne: 0x1f",
            {"a": 12, "b": -3, "c": "007", "d": "1_000", "e": "0x1f"},
        ),
        (
            "a: 1.5\nb: 1.0e-07\nc: .inf\nd: .nan\ne: 1e5",
            {"a": 1.5, "b": 1e-7, "c": ".inf", "d": ".nan", "e": "1e5"},
        ),
        ("a: '12'\nb: \"true\"\nc: !!str 5", {"a": "12", "b": "true", "c": "5"}),
        ("1: x\ntrue: y", {"1": "x", "true": "y"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: {b: [{c: 退款}]}", {"a": {"b": [{"c": "退款"}]}}),
        ("<<: 1", {"<<": 1}),
        ("{a: 1}", {"a": 1}),
        ("", {}),
        ("# comment", {}),
        ("a: 9999999999999999999999", {"a": 9999999999999999999999}),
    ],
)
def test_values_are_what_a_person_expects(source, value):
    assert load(source) == value


BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("a: [", "line 3"),
        ("a: 1\na: 2", "line 3: duplicate key 'a'"),
        ("a: {b: 1, b: 2}", "duplicate key 'b'"),
        ("- a", "not a mapping"),
        ("text", "not a mapping"),
        ("a: !!python/object:os.system x", "tag"),
        ("a: !custom x", "tag"),
        ("a: !!binary aGk=", "tag"),
        ("? [1]\n: x", "a key is not plain text"),
        ("a: *x", "alias"),
        ("a: &x [*x]", "stands for nothing"),
        (BOMB, "more than"),
        ("a: " + "[" * 5000 + "]" * 5000, "nest"),
        ("a:\n  " + "- " * (MAX_DEPTH + 2) + "x", "nested deeper"),
        ("a: 1\n--- \nb: 2", "more than one YAML document"),
        ("a: \x00", "front matter"),
        ("a: \ud800", "not valid Unicode"),
        ("<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x", "front matter"),
        ("a: b: c", "line 2"),
        ("\ta: 1", "front matter"),
    ],
)
def test_what_does_not_parse_says_where(source, problem):
    with pytest.raises(DocumentError, match=problem) as caught:
        load(source, "experiences/x.md")
    assert caught.value.message.startswith("experiences/x.md: front matter")


def test_entries_cover_each_key():
    found = entries(SOURCE)
    assert found is not None
    assert [SOURCE[e.start : e.end].split("\n", 1)[0] for e in found] == [
        "name: refund  # short",
        "description: >",
        "tags:",
        'owner: {name: "Ann", since: 2024-01-02}',
        "steps: |",
        "'quoted key': 'it''s'",
        "empty:",
        "last: [1,",
    ]
    assert SOURCE[found[0].at : found[0].to] == "refund"


@pytest.mark.parametrize(
    ("source", "updates", "expected"),
    [
        ("a: 1 # one\nb: 2\n", {"a": 9}, "a: 9 # one\nb: 2\n"),
        ("a: 1\nb: 2\n", {"a": None}, "b: 2\n"),
        ("# top\na: 1\n# mid\nb: 2\n# end\n", {"a": None, "c": 3}, "# top\n# mid\nb: 2\n# end\nc: 3\n"),
        ("a: 1\r\nb: 2\r\n", {"b": 3, "c": "x"}, "a: 1\r\nb: 3\r\nc: x\r\n"),
        ("a: 1", {"b": 2}, "a: 1\nb: 2\n"),
        ("", {"a": 1}, "a: 1\n"),
        ("# c\n", {"a": 1}, "# c\na: 1\n"),
        ("a: [1, 2] # list\nb: 1\n", {"a": 5}, "a: 5 # list\nb: 1\n"),
        ("a: 1\nb: 1\n", {"a": ["x", "y"]}, "a:\n- x\n- y\nb: 1\n"),
        ("a: >\n  long\n  text\nb: 1\n", {"a": "short"}, "a: short\nb: 1\n"),
        ("  a: 1\n  b: 2\n", {"a": 3, "c": 4}, "  a: 3\n  b: 2\n  c: 4\n"),
        ("a:\nb: 1\n", {"a": "x"}, "a: x\nb: 1\n"),
        ("'a': \"x\" # q\n", {"a": "y"}, "'a': y # q\n"),
        ("{a: 1, b: 2}\n", {"b": 3}, "a: 1\nb: 3\n"),
        ("a: &x 1\nb: *x\n", {"a": None}, "b: 1\n"),
        ("a: x\n", {"a": "yes"}, "a: 'yes'\n"),
        ("a: x\n", {"a": "2024-01-02"}, "a: '2024-01-02'\n"),
        ("a: x\n", {"a": "one\ntwo\n"}, "a: |\n  one\n  two\n"),
        ("a: x\n", {}, "a: x\n"),
        ("a: null\n", {"b": 1}, "a: null\nb: 1\n"),
    ],
)
def test_splice(source, updates, expected):
    assert splice(source, updates) == expected


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        "",
        "yes",
        "007",
        "1e5",
        "~",
        "a: b",
        "# x",
        "- x",
        "退款",
        "👩‍👧",
        "a\nb\n",
        "\n a\n\n",
        " x ",
        "\u2028",
        "\x85",
        "{",
        "*a",
        "&a",
    ]
)
VALUE = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(TEXT, VALUE, max_size=4))
def test_what_is_dumped_loads_the_same(fields):
    assert load(dump(fields)) == fields
    assert split(f"---\n{dump(fields)}---\n")[0] in (dump(fields), None)


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["name", "tags", "owner", "quoted key", "last", "new"]) | TEXT, VALUE | st.none()
    ),
    st.booleans(),
)
def test_a_splice_changes_what_it_says_and_no_other_byte(updates, crlf):
    source = SOURCE.replace("\n", "\r\n") if crlf else SOURCE
    result = splice(source, updates)
    wanted = {k: v for k, v in {**load(source), **updates}.items() if v is not None or k not in updates}
    assert load(result) == wanted
    kept = [source[e.start : e.end] for e in entries(source) or () if e.key not in updates]
    at = 0
    for lines in kept:
        at = result.index(lines, at) + len(lines)
    comments = [line for line in source.split("\n") if line.startswith("#")]
    assert [line for line in result.split("\n") if line in comments] == comments


def test_other_readers_see_the_same_text():
    fields = {"a": "yes", "b": "2024-01-02", "c": "007", "d": "1:30", "e": "退款", "f": "0x1f"}
    assert yaml.safe_load(dump(fields)) == fields


def test_locate_counts_characters():
    text = "---\nname: 退款\n---\n\nbody\n"
    found = locate(text)
    assert found is not None
    assert (text[found[0] : found[1]], text[found[2] :]) == ("name: 退款\n", "\nbody\n")


def test_values_that_yaml_cannot_hold_are_an_error():
    with pytest.raises(DocumentError, match="cannot hold"):
        dump({"a": object()})
