from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.xpstore.merge_rows import REFUSED, ROWS
from xpstore.document import Document
from xpstore.merge import merge


@pytest.mark.parametrize("row", ROWS)
def test_row(row):
    base, ours, theirs, expected = ROWS[row]
    result = merge(base, ours, theirs, "experiences/x.md")
    if expected == REFUSED:
        assert (result.verdict, result.text) == ("REFUSED", ours)
        assert result.overlaps or result.account
    else:
        assert (result.verdict, result.text) == ("PROVEN", expected)
        assert merge(base, result.text, theirs).text == expected
        assert merge(base, ours, result.text).text == expected


def test_overlaps_name_what_both_sides_changed():
    result = merge("## A\n\n- a\n- b\n", "## A\n\n- a1\n- b\n", "## A\n\n- a2\n- b\n")
    (overlap,) = result.overlaps
    assert (overlap.section, overlap.base, overlap.ours, overlap.theirs) == (
        "A",
        ("- a",),
        ("- a1",),
        ("- a2",),
    )


def test_the_account_has_every_change():
    result = merge("- a\n- b\n- c\n", "- a\n- b\n- o\n", "- a2\n- b\n- c\n- t\n")
    assert {(e.text, e.side, e.change, e.fate) for e in result.account} == {
        ("- c", "ours", "removed", "kept"),
        ("- o", "ours", "added", "kept"),
        ("- a", "theirs", "removed", "kept"),
        ("- a2", "theirs", "added", "kept"),
        ("- t", "theirs", "added", "kept"),
    }


def test_a_refusal_says_what_does_not_parse():
    (entry,) = merge("- a\n", "---\ns: [\n---\n", "- b\n", "experiences/x.md").account
    assert "experiences/x.md" in entry.reason


def test_a_criss_cross_keeps_what_every_side_added():
    base, ours, theirs = "- a\n- z\n", "- a\n- o\n- z\n", "- a\n- t\n- z\n"
    one, other = merge(base, ours, theirs).text, merge(base, theirs, ours).text
    assert one
    assert other
    virtual = merge(base, ours, theirs).text
    merged = merge(virtual, one + "- o2\n", other + "- t2\n")
    assert merged.verdict == "PROVEN"
    assert sorted((merged.text or "").split("\n")) == ["", "- a", "- o", "- o2", "- t", "- t2", "- z"]


# --- laws -------------------------------------------------------------------------------------------

WORD = st.sampled_from(["a", "b", "c", "d", "e"])
ITEM = st.builds(
    lambda word, nested, figures: f"- {word}{nested}{figures}",
    WORD,
    st.sampled_from(["", "", "\n  - n", "\n\n  more"]),
    st.sampled_from(["", "", "\n  *Support: 1*", "\n  *Support: 2*"]),
)
BLOCK = ITEM | WORD | st.just("```\n## x\n\n- y\n```") | st.just("### Sub")
NAME = st.sampled_from(["Situation", "Approach", "Reflect", "Other"])
FIELDS = st.dictionaries(st.sampled_from(["name", "tags"]), st.sampled_from(["x", "y"]), max_size=2)


@st.composite
def files(draw: st.DrawFn) -> str:
    names = draw(st.lists(NAME, unique=True, max_size=3))
    sections = [(name, draw(st.lists(BLOCK, max_size=4))) for name in names]
    intro = [("", draw(st.lists(BLOCK, max_size=1)))] if draw(st.booleans()) else []
    text = Document.build(draw(FIELDS), intro + sections).text
    text = draw(st.sampled_from([text, text, text.replace("\n", "\r\n"), text.removesuffix("\n")]))
    return draw(st.sampled_from([text, text, text.replace("\n\n", "\n\n\n")]))


def repeats(text: str | None) -> bool:
    """Whether a section says one thing twice: which copy is which is then a guess."""
    return any(
        len({x.key for x in p.statements}) < len(p.statements) for p in Document.parse(text or "").sections
    )


MAYBE = st.none() | files() | files()


@settings(max_examples=40, deadline=None)
@given(MAYBE, MAYBE)
def test_one_side_alone_is_taken_byte_for_byte(base, side):
    assert merge(base, side, side).text == side
    assert merge(base, base, side).text == side
    assert merge(base, side, base).text == side
    assert merge(None, None, side).text == side


def said(text: str | None) -> set[tuple[str, str]]:
    return {(s.section, s.text) for s in Document.parse(text or "").statements()}


@settings(max_examples=50, deadline=None)
@given(MAYBE, MAYBE, MAYBE)
def test_swapped_sides_say_the_same(base, ours, theirs):
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert one.verdict == other.verdict
    if one.verdict == "PROVEN":
        assert said(one.text) == said(other.text)


@settings(max_examples=50, deadline=None)
@example(None, "## Situation\n\n## Other\n\n## Approach\n", "## Situation\n\n## Reflect\n\n## Other\n")
@given(MAYBE, MAYBE, MAYBE)
def test_merging_what_is_merged_changes_nothing(base, ours, theirs):
    assume(not any(repeats(text) for text in (base, ours, theirs)))
    result = merge(base, ours, theirs)
    assume(result.verdict == "PROVEN")
    assert merge(base, result.text, theirs).text == result.text
    assert merge(base, ours, result.text).text == result.text


@settings(max_examples=50, deadline=None)
@given(MAYBE, MAYBE, MAYBE)
def test_nothing_is_invented_and_nothing_that_both_kept_is_lost(base, ours, theirs):
    result = merge(base, ours, theirs)
    assume(result.verdict == "PROVEN")
    keys = {(section, Document.parse(text).statements()[0].key) for section, text in said(result.text)}
    known = {
        (section, Document.parse(text).statements()[0].key)
        for x in (ours, theirs)
        for section, text in said(x)
    }
    assert keys <= known
    assert said(ours) & said(theirs) <= said(result.text)
    stays, mine, yours = ({text for _, text in said(x)} for x in (result.text, ours, theirs))
    assert mine & yours <= stays


@settings(max_examples=40, deadline=None)
@given(files(), files(), files(), st.randoms(use_true_random=False))
def test_any_text_merges_without_an_error(base, ours, theirs, random):
    cut = [text[random.randrange(len(text) + 1) :] for text in (base, ours, theirs)]
    assert merge(*cut).verdict in {"PROVEN", "REFUSED"}


# --- the law of learners ----------------------------------------------------------------------------

LEARNED = st.lists(
    st.tuples(
        st.sampled_from(["Situation", "Approach", "Reflect", "Other"]), st.integers(0, 99), st.booleans()
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda x: (x[0], x[1]),
)
HEAD = {"name": "x", "description": "when: something"}
ORDER = ["Situation", "Approach", "Reflect", "Other"]


def page(statements: list[tuple[str, str]]) -> str:
    used = [name for name in ORDER if any(section == name for section, _ in statements)]
    return Document.build(HEAD, [(n, [text for s, text in statements if s == n]) for n in used]).text


@settings(max_examples=40, deadline=None)
@given(LEARNED, st.data())
def test_folding_one_edit_per_statement_gives_the_whole_file(rows, data):
    texts = [(s, f"- rule {n}\n  *Support: {n}*" if item else f"Paragraph {n}.") for s, n, item in rows]
    full = sorted(texts, key=lambda x: ORDER.index(x[0]))
    has_it = data.draw(st.lists(st.booleans(), min_size=len(full), max_size=len(full)))
    known = [x for x, kept in zip(full, has_it, strict=True) if kept]
    base = page(known)
    text: str | None = base
    for missing in (x for x, kept in zip(full, has_it, strict=True) if not kept):
        edit = page([x for x in full if x in known or x == missing])
        result = merge(base, text, edit)
        assert result.verdict == "PROVEN"
        text = result.text
    assert text == page(full)


@settings(max_examples=40, deadline=None)
@given(LEARNED)
def test_folding_new_files_of_one_statement_each_gives_the_whole_file(rows):
    shared = [("Situation", "When it happens."), ("Approach", "- IF always DO look")]
    own = [(s, f"- rule {n}\n  *Support: {n}*") for s, n, _ in rows]
    full = sorted([*shared, *own], key=lambda x: ORDER.index(x[0]))
    text: str | None = None
    for statement in (x for x in full if x in own):
        text = merge(None, text, page([x for x in full if x in shared or x == statement])).text
    assert text == page(full)
