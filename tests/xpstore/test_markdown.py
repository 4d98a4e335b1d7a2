from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore.markdown import Statement, parse_body, render, statement_key, usual_gap


def read(text: str) -> list[tuple[str, str]]:
    sections, _ = parse_body(text.removesuffix("\n").split("\n"))
    return [(s.section, s.text) for part in sections for s in part.statements]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b\n", [("", "- a"), ("", "- b")]),
        ("- a\n  more\n\n  still a\n- b\n", [("", "- a\n  more\n\n  still a"), ("", "- b")]),
        ("- a\nlazy rest\n- b\n", [("", "- a\nlazy rest"), ("", "- b")]),
        ("- a\n  - nested\n  1. nested\n* b\n", [("", "- a\n  - nested\n  1. nested"), ("", "* b")]),
        ("- a\n\nparagraph\n", [("", "- a"), ("", "paragraph")]),
        ("1. a\n2) b\n", [("", "1. a"), ("", "2) b")]),
        ("1. a\n   - nested\n", [("", "1. a\n   - nested")]),
        ("  - a\n  - b\n", [("", "  - a"), ("", "  - b")]),
        ("- a\n\tcode\n", [("", "- a\n\tcode")]),
        ("- a\n\n\n  b\n", [("", "- a\n\n\n  b")]),
        ("one\ntwo\n\nthree\n", [("", "one\ntwo"), ("", "three")]),
        ("text\n- a\n", [("", "text"), ("", "- a")]),
        ("## A\n- a\n## B\n- b\n", [("A", "- a"), ("B", "- b")]),
        ("##  A  b ##\n- a\n", [("A b", "- a")]),
        ("##A\n", [("", "##A")]),
        ("# T\n## A\n### S\nx\n", [("", "# T"), ("A", "### S"), ("A", "x")]),
        ("A\n---\nx\n", [("A", "x")]),
        ("one\ntwo\n---\nx\n", [("", "one\ntwo\n---"), ("", "x")]),
        ("T\n===\nx\n", [("", "T\n===\nx")]),
        ("x\n\n---\n\ny\n", [("", "x"), ("", "---"), ("", "y")]),
        ("* * *\n- a\n", [("", "* * *"), ("", "- a")]),
        ("```\n## no\n\n- no\n```\n- a\n", [("", "```\n## no\n\n- no\n```"), ("", "- a")]),
        ("~~~ md\n```\n## no\n~~~\n", [("", "~~~ md\n```\n## no\n~~~")]),
        ("````\n```\n## no\n````\n", [("", "````\n```\n## no\n````")]),
        ("```\nopen\n\n## no\n", [("", "```\nopen\n\n## no")]),
        ("```not a fence```\n\n## A\n- a\n", [("", "```not a fence```"), ("A", "- a")]),
        ("- a\n  ```\n  ## no\n  ```\n- b\n", [("", "- a\n  ```\n  ## no\n  ```"), ("", "- b")]),
        ("<!-- x\n\n## no\n-->\n- a\n", [("", "<!-- x\n\n## no\n-->"), ("", "- a")]),
        ("> q\n> r\n\nx\n", [("", "> q\n> r"), ("", "x")]),
        ("- a\n> q\n", [("", "- a"), ("", "> q")]),
        ("| a |\n|---|\n| b |\n", [("", "| a |\n|---|\n| b |")]),
        ("    code\n    - no\n\nx\n", [("", "    code\n    - no"), ("", "x")]),
        ("-\n- b\n", [("", "-"), ("", "- b")]),
        ("-no\n", [("", "-no")]),
        ("**bold** x\n", [("", "**bold** x")]),
        ("- a\f## no\u2028## no\x85\n", [("", "- a\f## no\u2028## no\x85")]),
        ("", []),
        ("\n\n", []),
        ("## A\n", []),
    ],
)
def test_statements(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("- a  b\n  c", "a b c"),
        ("* a b c", "a b c"),
        ("12. a b c", "a b c"),
        ("a b\nc", "a b c"),
        ("- a\n  - nested", "a"),
        ("- a\n\n  more", "a"),
        ("- a\n  ```\n  x\n  ```", "a"),
        ("- a\n  *Support: 5 of 9*\n  *Left out: 1*", "a"),
        ("a\n  *Support: 5*", "a"),
        ("- a\n  *emphasis*", "a *emphasis*"),
        ("- re\u0301fund", "r\u00e9fund"),
        ("```\nx\n\ny\n```", "``` x y ```"),
        ("- ```\n  x\n  ```", "``` x ```"),
        ("-", "-"),
        ("<!-- a\n\nb -->", "<!-- a b -->"),
        ("- A", "A"),
    ],
)
def test_keys(text, key):
    assert statement_key(text) == Statement(text, "").key == key


def test_evidence_lines_are_apart_from_the_body():
    statement = Statement("- a\n  - b\n  *Support: 5*\n  *Left out: 1*", "")
    assert statement.evidence == ("  *Support: 5*", "  *Left out: 1*")
    assert statement.body == "- a\n  - b"


def test_list_items_stand_close_and_everything_else_apart():
    assert usual_gap("- a", "1. b") == ""
    assert usual_gap("- a", "b") == usual_gap("a", "- b") == "\n"


LINES = st.lists(
    st.sampled_from(
        [
            "",
            " ",
            "\t",
            "- a",
            "  - b",
            "1. c",
            "## H",
            "T",
            "---",
            "===",
            "```",
            "~~~~",
            "    x",
            "> q",
            "<!--",
            "-->",
            "# h",
            "\f",
            "  *Support: 1*",
        ]
    )
    | st.text(st.characters(exclude_characters="\n"), max_size=6),
    max_size=14,
)


@settings(max_examples=100, deadline=None)
@given(LINES)
def test_every_line_is_kept_in_its_place(lines):
    sections, tail = parse_body(lines)
    assert render(sections) + tail == "".join(line + "\n" for line in lines)


@settings(max_examples=100, deadline=None)
@given(LINES)
def test_reading_what_was_written_gives_the_same_sections(lines):
    sections, tail = parse_body(lines)
    again, _ = parse_body((render(sections) + tail).split("\n")[:-1])
    assert again == sections
    assert all(statement.text for part in sections for statement in part.statements)
