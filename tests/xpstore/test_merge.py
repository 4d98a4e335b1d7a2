from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from xpstore.document import Document
from xpstore.merge import merge

BASE = "## Approach\n\n- a\n- b\n- c\n"

# name: (base, ours, theirs, expected). None = no file; REFUSED = nothing may be written.
REFUSED = "REFUSED"
ROWS = {
    "nothing changed": (BASE, BASE, BASE, BASE),
    "only ours changed": (BASE, "x", BASE, "x"),
    "only theirs changed": (BASE, BASE, "x\r\n", "x\r\n"),
    "both changed alike": (BASE, "x\n", "x\n", "x\n"),
    "a file from ours": (None, "x\n", None, "x\n"),
    "both delete": (BASE, None, None, None),
    "theirs deletes, ours unchanged": (BASE, BASE, None, None),
    "theirs deletes, ours changes": (BASE, "x\n", None, REFUSED),
    "ours deletes, theirs changes": (BASE, None, "x\n", REFUSED),
    "additions at two places": ("- a\n- b\n", "- n\n- a\n- b\n", "- a\n- b\n- m\n", "- n\n- a\n- b\n- m\n"),
    "additions at one place": ("- a\n- b\n", "- a\n- n\n- b\n", "- a\n- m\n- b\n", "- a\n- n\n- m\n- b\n"),
    "the same addition": ("- a\n", "- a\n- n\n", "- a\n- n\n- m\n", "- a\n- n\n- m\n"),
    "removals": ("- a\n- b\n- c\n", "- b\n- c\n", "- a\n- b\n", "- b\n"),
    "removed with its neighbour added": ("- a\n- b\n", "- b\n", "- a\n- n\n- b\n", "- n\n- b\n"),
    "rewording beside an addition": ("- a\n- b\n", "- A\n- b\n", "- a\n- b\n- n\n", "- A\n- b\n- n\n"),
    "both reword": ("- a\n- b\n", "- a1\n- b\n", "- a2\n- b\n", "- a1\n- a2\n- b\n"),
    "nested lines changed on one side": (
        "- a\n- b\n",
        "- a\n  - n\n- b\n",
        "- a\n- b\n- c\n",
        "- a\n  - n\n- b\n- c\n",
    ),
    "nested lines changed on both": (
        "- a\n  - x\n",
        "- a\n  - y\n",
        "- a\n  - z\n",
        "- a\n  - y\n- a\n  - z\n",
    ),
    "nested lines changed, statement removed": (
        "- a\n  - x\n- b\n",
        "- a\n  - y\n- b\n",
        "- b\n- c\n",
        REFUSED,
    ),
    "figures changed on one side": (
        "- a\n  *Support: 1*\n- b\n",
        "- a\n  *Support: 2*\n- b\n",
        "- a\n  *Support: 1*\n- b\n- c\n",
        "- a\n  *Support: 2*\n- b\n- c\n",
    ),
    "figures here, nested lines there": (
        "- a\n  - x\n  *Support: 1*\n",
        "- a\n  - x\n  *Support: 2*\n",
        "- a\n  - y\n  *Support: 1*\n",
        "- a\n  - y\n  *Support: 2*\n",
    ),
    "figures changed on both": (
        "- a\n  *Support: 1*\n  *Left out: 1*\n",
        "- a\n  *Support: 3*\n  *Left out: 1*\n",
        "- a\n  *Support: 2*\n  *Left out: 1*\n",
        "- a\n  *Support: 2*\n  *Support: 3*\n  *Left out: 1*\n",
    ),
    "figures changed, statement removed": (
        "- a\n  *Support: 1*\n- b\n",
        "- a\n  *Support: 2*\n- b\n",
        "- b\n- c\n",
        "- b\n- c\n",
    ),
    "moved on one side, added on the other": (
        "- a\n- b\n- c\n",
        "- a\n- b\n- n\n- c\n",
        "- c\n- a\n- b\n",
        "- c\n- a\n- b\n- n\n",
    ),
    "removed here, doubled there": ("- a\n- b\n", "- a\n- a\n- b\n", "- b\n- c\n", "- b\n- c\n"),
    "numbered lists": (
        "1. a\n2. b\n",
        "1. n\n2. a\n3. b\n",
        "1. a\n2. b\n3. m\n",
        "1. n\n2. a\n3. b\n3. m\n",
    ),
    "a new section on each side": (
        "## Situation\n\ns\n",
        "## Situation\n\ns\n\n## Reflect\n\n- r\n",
        "## Situation\n\ns\n\n## Approach\n\n- a\n",
        "## Situation\n\ns\n\n## Approach\n\n- a\n\n## Reflect\n\n- r\n",
    ),
    "the usual sections keep their order": (
        None,
        "## Approach\n\n- a\n\n## Other\n\n- o\n",
        "## Situation\n\ns\n",
        "## Situation\n\ns\n\n## Approach\n\n- a\n\n## Other\n\n- o\n",
    ),
    "a section removed while the other adds to it": (
        "## A\n\n- a\n\n## B\n\n- b\n",
        "## A\n\n- a\n",
        "## A\n\n- a\n\n## B\n\n- b\n- n\n",
        "## A\n\n- a\n\n## B\n\n- n\n",
    ),
    "repeated headings": (
        "## A\n\n- x\n\n## A\n\n- y\n",
        "## A\n\n- x\n- o\n\n## A\n\n- y\n",
        "## A\n\n- x\n\n## A\n\n- y\n- t\n",
        "## A\n\n- x\n- o\n\n## A\n\n- y\n- t\n",
    ),
    "a heading inside a fence": (
        "```\n## no\n- no\n```\n\n- a\n",
        "```\n## no\n- no\n```\n\n- a\n- o\n",
        "- t\n\n```\n## no\n- no\n```\n\n- a\n",
        "- t\n\n```\n## no\n- no\n```\n\n- a\n- o\n",
    ),
    "setext headings": (
        "Intro\n=====\n\nA\n---\n\n- x\n",
        "Intro\n=====\n\nA\n---\n\n- x\n- o\n",
        "Intro\n=====\n\nword\n\nA\n---\n\n- x\n",
        "Intro\n=====\n\nword\n\nA\n---\n\n- x\n- o\n",
    ),
    "quoted conflict markers": (
        "- a\n\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n",
        "- a\n- o\n\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n",
        "- t\n- a\n\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n",
        "- t\n- a\n- o\n\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n",
    ),
    "only line ends changed": ("- a\n- b\n", "- a\r\n- b\r\n", "- a\n- b\n- c\n", "- a\r\n- b\r\n- c\r\n"),
    "a CRLF file": ("- a\r\n", "- o\r\n- a\r\n", "- a\r\n- t\r\n", "- o\r\n- a\r\n- t\r\n"),
    "final line break removed": ("- a\n- b\n", "- a\n- b", "- n\n- a\n- b\n", "- n\n- a\n- b"),
    "final line break missing": ("- a", "- o\n- a", "- a\n- t", "- o\n- a\n- t"),
    "form feeds and line separators": (
        "- a\f\n",
        "- a\f\n- b\u2028c\n",
        "- t\x85\n- a\f\n",
        "- t\x85\n- a\f\n- b\u2028c\n",
    ),
    "same key, other whitespace": (
        "- a b\n- c\n",
        "- a  b\n- c\n",
        "- a b\n- c\n- d\n",
        "- a  b\n- c\n- d\n",
    ),
    "paragraphs": (
        "one\n\ntwo\n",
        "one\n\nnew\n\ntwo\n",
        "one\n\ntwo\n\nlast\n",
        "one\n\nnew\n\ntwo\n\nlast\n",
    ),
    "comments in HTML": (
        "<!-- x -->\n\n- a\n",
        "<!-- x -->\n\n- a\n- o\n",
        "<!-- y\n\n## z -->\n\n- a\n",
        "<!-- y\n\n## z -->\n\n- a\n- o\n",
    ),
    "contradiction": (
        "- x\n",
        "- x\n- IF cabin is basic DO call `cancel`\n",
        "- x\n- IF cabin is basic DO NOT call `cancel`\n",
        REFUSED,
    ),
    "contradiction across sections": (
        "## A\n\n- x\n\n## B\n\n- y\n",
        "## A\n\n- x\n- Always ask first.\n\n## B\n\n- y\n",
        "## A\n\n- x\n\n## B\n\n- y\n- Never ask first.\n",
        REFUSED,
    ),
    "a contradiction that one side held before": (
        "- Always ask.\n- Never ask.\n",
        "- Always ask.\n- Never ask.\n- o\n",
        "- t\n- Always ask.\n- Never ask.\n",
        "- t\n- Always ask.\n- Never ask.\n- o\n",
    ),
    "one side replaces a command by its opposite": (
        "- Always ask.\n- x\n",
        "- Never ask.\n- x\n",
        "- Always ask.\n- x\n- y\n",
        "- Never ask.\n- x\n- y\n",
    ),
    "add/add": (
        None,
        "---\nname: x\n---\n\n## Approach\n\n- a\n- o\n",
        "---\nname: x\n---\n\n## Approach\n\n- a\n- t\n",
        "---\nname: x\n---\n\n## Approach\n\n- a\n- o\n- t\n",
    ),
    "add/add, other description": (None, "---\nd: 1\n---\n\na\n", "---\nd: 2\n---\n\nb\n", REFUSED),
    "front matter by key": (
        "---\nname: x\nstatus: draft\n---\n",
        "---\nname: x\nstatus: production\n---\n",
        "---\nname: x\nstatus: draft\ntags: [a]\n---\n",
        "---\nname: x\nstatus: production\ntags: [a]\n---\n",
    ),
    "front matter here, body there": (
        "---\nname: x\n---\n\n- a\n",
        "---\nname: 'x' # by Ann\n---\n\n- a\n",
        "---\nname: x\n---\n\n- a\n- b\n",
        "---\nname: 'x' # by Ann\n---\n\n- a\n- b\n",
    ),
    "front matter clash": ("---\ns: 1\n---\n", "---\ns: 2\n---\n", "---\ns: 3\n---\n", REFUSED),
    "front matter does not parse": ("---\ns: 1\n---\n", "---\ns: [\n---\n", "---\ns: 3\n---\n", REFUSED),
    "front matter of the base does not parse": (
        "---\ns: [\n---\n",
        "---\ns: 2\n---\n",
        "---\ns: 2\n---\nx\n",
        REFUSED,
    ),
    "front matter is not closed": ("- a\n", "---\ns: 1\n- a\n", "- a\n- b\n", REFUSED),
    "front matter added": ("- a\n", "---\ns: 1\n---\n\n- a\n", "- a\n- b\n", "---\ns: 1\n---\n\n- a\n- b\n"),
    "front matter with CRLF": (
        "---\r\na: 1\r\n---\r\n",
        "---\r\na: 2\r\n---\r\n",
        "---\r\na: 1\r\nb: 1\r\n---\r\n",
        "---\r\na: 2\r\nb: 1\r\n---\r\n",
    ),
    "an addition behind an open fence": ("- a\n", "- a\n\n```\nopen\n", "- a\n- b\n\n```\nother\n", REFUSED),
}


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
