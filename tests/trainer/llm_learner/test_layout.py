from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.llm_learner.layout import laid_out
from xpstore.document import Document
from xpstore.errors import DocumentError

PAGE = """---
name: a  # by Ann
---

Intro.

## Approach


- one

- two
- two
* three


## Notes

Prose.

## Approach

- four
"""


def said(document):
    found = {}
    for statement in document.statements():
        found.setdefault(statement.section, []).append(statement.text)
    return found


def test_what_is_laid_out_as_it_was_keeps_every_byte():
    for text in (PAGE, PAGE.replace("\n", "\r\n"), PAGE.removesuffix("\n"), "", "- a", "---\nx: 1\n---\n"):
        document = Document.parse(text)
        assert laid_out(document, said(document)) == text


def test_statements_go_come_and_are_replaced_where_they_stand():
    document = Document.parse(PAGE)
    wanted = said(document)
    wanted["Approach"] = ["- one", "- new", "- two", "* three", "- four", "- last"]
    wanted["Notes"] = []
    wanted["Reflect"] = ["- r"]
    assert laid_out(document, wanted) == PAGE.replace("- one\n\n- two\n", "- one\n- new\n").replace(
        "\n\n## Notes\n\nProse.\n", ""
    ).replace("- four\n", "- four\n- last\n\n## Reflect\n\n- r\n")


def test_a_new_page_has_the_usual_sections_in_their_order():
    head = Document.parse("---\nname: x\n---\n")
    text = laid_out(head, {"Reflect": ["- r"], "Other": ["p", "q"], "Situation": ["- s"]})
    assert text == "---\nname: x\n---\n\n## Situation\n\n- s\n\n## Reflect\n\n- r\n\n## Other\n\np\n\nq\n"


def test_text_that_would_be_read_otherwise_is_refused():
    with pytest.raises(DocumentError, match="not one statement"):
        laid_out(Document.parse(PAGE), {"Approach": ["- one\n- two"]})
    with pytest.raises(DocumentError):
        laid_out(Document.parse(PAGE), {"Approach": ["```\nopen", "- one"]})


LINES = st.sampled_from(["- a", "- b", "- b", "p", "* c\n  - d"])


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, max_size=5), st.lists(LINES, max_size=5), st.booleans())
def test_any_statements_can_be_laid_out_on_any_page(old, new, is_crlf):
    page = laid_out(Document.parse("---\nname: x\n---\n"), {"Approach": old})
    page = page.replace("\n", "\r\n") if is_crlf else page
    made = Document.parse(laid_out(Document.parse(page), {"Approach": new}))
    assert [s.text for s in made.statements()] == new
