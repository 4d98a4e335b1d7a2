from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore.document import Document, canonical
from xpstore.errors import DocumentError

FILE = """\
---
# by Ann
name: refund  # keep
description: 'when: money'
---

Intro.

## Situation

When a customer asks.

## Approach

- first
  *Support: 5 of 9*
- second

## Reflect

1. never
"""


def test_a_file_is_read():
    doc = Document.parse(FILE)
    assert doc.front == {"name": "refund", "description": "when: money"}
    assert doc.body.startswith("\nIntro.")
    assert [section.name for section in doc.sections] == ["", "Situation", "Approach", "Reflect"]
    assert [s.key for s in doc.statements("Approach")] == ["first", "second"]
    assert len(doc.statements()) == 5


@pytest.mark.parametrize("text", ["", "text", "- a", "---\n---\n", "\ufeff---\na: 1\n---\n\n- x\n"])
def test_files_without_the_usual_parts_are_read(text):
    doc = Document.parse(text)
    assert doc.text == text
    assert doc.statements("Approach") == ()


def test_crlf_is_read_like_lf():
    doc = Document.parse(FILE.replace("\n", "\r\n"))
    assert doc.statements() == Document.parse(FILE).statements()
    assert (doc.newline, doc.front) == ("\r\n", Document.parse(FILE).front)


def test_a_missing_final_line_break_changes_no_statement():
    assert Document.parse(FILE[:-1]).statements() == Document.parse(FILE).statements()


def test_what_does_not_parse_is_named():
    with pytest.raises(DocumentError, match=r"x\.md"):
        Document.parse("---\na: [\n---\n", "x.md")


def test_the_canonical_form_of_a_file():
    doc = Document.build(
        {"name": "退款", "description": "when: money"},
        [
            ("Situation", ["When."]),
            ("Approach", ["- a\n  *Support: 1*", "- b", "text", "- c"]),
            ("Empty", []),
        ],
    )
    assert doc.text == (
        "---\nname: 退款\ndescription: 'when: money'\n---\n\n## Situation\n\nWhen.\n\n"
        "## Approach\n\n- a\n  *Support: 1*\n- b\n\ntext\n\n- c\n\n## Empty\n"
    )


def test_a_file_can_be_built_without_front_matter_or_headings():
    assert Document.build({}, [("", ["text"]), ("A", ["- a"])]).text == "text\n\n## A\n\n- a\n"
    assert Document.build({}, []).text == ""
    assert Document.build({"a": 1}, []).text == "---\na: 1\n---\n"
    assert Document.build({"a": 1}, [("", ["t"])]).text == "---\na: 1\n---\n\nt\n"


@pytest.mark.parametrize(
    "text", ["- a\n## B", "a\n\nb", "- a\n- b", "", "- a\n\n", "\n- a", "```\nopen", "- a\r\n  b", " "]
)
def test_what_is_not_one_statement_cannot_be_built(text):
    for texts in ([text, "- z"], ["- z", text, "- y"]):
        with pytest.raises(DocumentError, match="one statement"):
            Document.build({}, [("A", texts)])


def test_an_empty_last_statement_is_not_dropped_silently():
    with pytest.raises(DocumentError, match="one statement"):
        Document.build({}, [("A", ["- z", ""])])


def test_fields_change_without_touching_another_byte():
    doc = Document.parse(FILE).with_fields(name="x", status="draft", description=None)
    assert doc.text == FILE.replace("name: refund ", "name: x ").replace(
        "description: 'when: money'", "status: draft"
    )
    assert doc.front == {"name": "x", "status": "draft"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n", "---\ns: x\n---\n\n- a\n"),
        ("\n- a\n", "---\ns: x\n---\n\n- a\n"),
        ("", "---\ns: x\n---\n"),
        ("- a\r\n- b\r\n", "---\r\ns: x\r\n---\r\n\r\n- a\r\n- b\r\n"),
        ("---\n---\n- a", "---\ns: x\n---\n- a"),
    ],
)
def test_fields_can_be_added_where_there_were_none(text, expected):
    assert Document.parse(text).with_fields(s="x").text == expected


def test_removing_what_is_not_there_changes_nothing():
    assert Document.parse("- a\n").with_fields(s=None).text == "- a\n"


def test_documents_are_equal_by_text():
    assert Document.parse(FILE) == Document.parse(FILE)
    assert hash(Document.parse(FILE)) == hash(Document.parse(FILE))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        ("a", "a\n"),
        ("a\n\n\n", "a\n"),
        ("", ""),
        ("\n", ""),
        ("\ufeffa\n", "a\n"),
        ("a\ud800b", "a?b\n"),
        ("a\rb\fc\u2028d\n", "a\rb\fc\u2028d\n"),
    ],
)
def test_canonical(text, expected):
    assert canonical(text) == expected


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_canonical_text_stays_as_it_is(text):
    assert canonical(canonical(text)) == canonical(text)


WORDS = st.text(
    st.characters(categories=["L", "Nd"], include_characters="退款👩می "), min_size=1, max_size=10
).filter(str.strip)
STATEMENT = st.builds(lambda a: "- " + " ".join(a.split()), WORDS) | st.builds(
    lambda a: "p " + " ".join(a.split()), WORDS
)


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(WORDS, WORDS | st.integers() | st.lists(WORDS, max_size=2), max_size=3),
    st.lists(
        st.tuples(st.sampled_from(["Situation", "退款", "Reflect"]), st.lists(STATEMENT, max_size=4)),
        max_size=3,
    ),
)
def test_what_is_built_reads_back(fields, sections):
    doc = Document.build(fields, sections)
    assert doc.front == fields
    assert [(part.name, [s.text for s in part.statements]) for part in doc.sections] == sections
    assert canonical(doc.text) == doc.text


@settings(max_examples=80, deadline=None)
@given(st.text(st.sampled_from("-#a: \n\r\t`>*1.\f\u2028退"), max_size=60))
def test_any_text_is_read_or_refused(text):
    refusal = ""
    try:
        doc = Document.parse(text, "x.md")
    except DocumentError as error:
        refusal = error.message
        doc = Document.parse("")
    assert "x.md" in refusal if refusal else doc.text == text
    assert doc.text.endswith(doc.body)
    assert all(s.text for s in doc.statements())
