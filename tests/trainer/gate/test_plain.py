from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.gate.plain import block, code, for_xml, visible


def test_what_cannot_be_seen_is_written_out():
    assert visible("a\x1b[31mb\u202ec\x00") == "a<U+001B>[31mb<U+202E>c<U+0000>"
    assert visible("退款 👩\u200d👧 می\u200cروم\n\tfine") == "退款 👩\u200d👧 می\u200cروم\n\tfine"
    assert visible("half \ud83d") == "half \ufffd"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "`plain`"),
        ("a `b` c", "``a `b` c``"),
        ("`b`", "`` `b` ``"),
        ("``", "``` `` ```"),
        ("a|b\nc", "`a\\|b c`"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_code_shows_a_text_on_one_line(text, shown):
    assert code(text) == shown


def test_long_text_is_cut():
    assert code("x" * 300, 10) == f"`{'x' * 9}…`"
    assert block("x" * 300, 10) == f"```text\n{'x' * 8}\n…\n```"


def test_a_block_cannot_be_left():
    assert block("a\n````\n# b\n", 100) == "`````text\na\n````\n# b\n`````"
    assert block("a\r\nb\rc", 100) == "```text\na\nb\nc\n```"


@settings(max_examples=40)
@given(st.text(max_size=40))
def test_any_text_can_be_in_an_xml_document(text):
    element = ET.Element("x", {"y": for_xml(text)})
    element.text = for_xml(text)
    read = ET.fromstring(ET.tostring(element, encoding="unicode"))  # noqa: S314  # our own
    assert read.text in {None, for_xml(text).replace("\r\n", "\n").replace("\r", "\n")}


@settings(max_examples=40)
@given(st.text(max_size=40))
def test_any_code_is_one_line_and_one_span(text):
    shown = code(text)
    assert "\n" not in shown
    if shown:
        fence = shown[: len(shown) - len(shown.lstrip("`"))]
        assert shown.endswith(fence)
        assert fence not in shown[len(fence) : -len(fence)] or fence == shown
