from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore.errors import DocumentError
from xpstore.frontmatter import load, splice
from xpstore.merge_front import merge_front


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        (None, None, None, None),
        ("a: 1\n", "a: 1\n", "a: 2 # x\n", "a: 2 # x\n"),
        ("a: 1\n", None, "a: 1\n", None),
        ("a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 2\n", "a: 2\nb: 2\n"),
        ("a: 1\n", "x: 1\na: 1\n", "a: 1\ny: 1\n", "x: 1\na: 1\ny: 1\n"),
        ("a: 1\nb: 1\n", "b: 1\n", "a: 1\nb: 2\n", "b: 2\n"),
        ("a: 1\nb: 1\n", "b: 1\n", "a: 1\n", ""),
        ("a: 1\n", "# ours\na: 1 # mine\n", "a: 2\n", "# ours\na: 2 # mine\n"),
        ("a: 1\n", "a: 2\n", "# theirs\na: 1\n", "a: 2\n"),
        ("t: [a, b]\n", "t: [b, c] # x\n", "t: [a, b, d]\n", "t:\n- b\n- c\n- d\n"),
        ("a: 1\n# end\n", "a: 1\nb: 1\n# end\n", "a: 1\nc: 1\n# end\n", "a: 1\nb: 1\nc: 1\n# end\n"),
        ("a: 1\n", "a: 1\n# end\n", "a: 1\nc: 1\n", "a: 1\nc: 1\n# end\n"),
        (None, "a: 1\n", "b: 1\n", "a: 1\nb: 1\n"),
        (None, "a: 'x'\n", "a: x\nb: 1\n", "a: 'x'\nb: 1\n"),
        ("{a: 1}\n", "{a: 2}\n", "{a: 1, b: 1}\n", "a: 2\nb: 1\n"),
        ("a: |\n  x\nb: 1\n", "a: |\n  y\nb: 1\n", "a: |\n  x\nb: 2\n", "a: |\n  y\nb: 2\n"),
    ],
)
def test_merged_keys(base, ours, theirs, expected):
    result = merge_front(base, ours, theirs)
    assert (result.source, result.clashes) == (expected, [])


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "clash"),
    [
        ("a: 1\n", "a: 2\n", "a: 3\n", ("a: 1\n", "a: 2\n", "a: 3\n")),
        (None, "a: 2\n", "a: 3\n", ("", "a: 2\n", "a: 3\n")),
        ("a: 1\nb: 1\n", "b: 1\nc: 1\n", "a: 3\nb: 1\n", ("a: 1\n", "", "a: 3\n")),
        ("a: {x: 1}\n", "a: {x: 2}\n", "a: {x: 3}\n", ("a: {x: 1}\n", "a: {x: 2}\n", "a: {x: 3}\n")),
    ],
)
def test_clashes_are_never_decided(base, ours, theirs, clash):
    assert merge_front(base, ours, theirs).clashes == [clash]


@pytest.mark.parametrize("broken", range(3))
def test_what_does_not_parse_is_an_error(broken):
    sources = ["a: 1\n", "a: 2\n", "b: 3\n"]
    sources[broken] = "a: [\n"
    with pytest.raises(DocumentError):
        merge_front(*sources)


START = "# top\nname: x # n\n# mid\ntags: [a]\nstatus: draft\n# end\n"
EDIT = st.dictionaries(
    st.sampled_from(["name", "tags", "status", "new", "more"]), st.sampled_from(["x", 2, None])
)


@settings(max_examples=80, deadline=None)
@given(EDIT, EDIT)
def test_edits_of_different_keys_all_arrive(mine, yours):
    yours = {key: value for key, value in yours.items() if key not in mine}
    result = merge_front(START, splice(START, mine), splice(START, yours))
    assert result.clashes == []
    wanted = {k: v for k, v in {**load(START), **mine, **yours}.items() if v is not None}
    assert load(result.source or "") == wanted
