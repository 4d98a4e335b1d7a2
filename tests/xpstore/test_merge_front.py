from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from xpstore.errors import DocumentError
from xpstore.frontmatter import load, splice
from xpstore.merge_comments import texts_of
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
        ("a: 1\n", "a: 2\n", "# theirs\na: 1\n", "# theirs\na: 2\n"),
        ("t: [a, b]\n", "t: [b, c] # x\n", "t: [a, b, d]\n", "# x\nt:\n- b\n- c\n- d\n"),
        ("a: 1\n# end\n", "a: 1\nb: 1\n# end\n", "a: 1\nc: 1\n# end\n", "a: 1\nb: 1\nc: 1\n# end\n"),
        ("a: 1\n", "a: 1\n# end\n", "a: 1\nc: 1\n", "a: 1\nc: 1\n# end\n"),
        ("# x\na: 1\n", "# x\na: 2\n", "# y\na: 1\n", "# y\na: 2\n"),
        ("# x\na: 1\n", "# y\na: 1\n", "# x\na: 2\n", "# y\na: 2\n"),
        ("# x\na: 1\n", "# x\na: 2\n", "a: 1\n", "a: 2\n"),
        ("# x\na: 1\n", "# y\na: 1\n", "# z\na: 1\n", "# y\n# z\na: 1\n"),
        ("a: 1\n", "# y\na: 1\n", "# z\na: 1\n", "# y\n# z\na: 1\n"),
        ("a: 1 # x\n", "a: 2 # x\n", "a: 1 # y\n", "a: 2 # y\n"),
        ("a: 1 # x\n", "a: 2 # x\n", "a: 1\n", "a: 2\n"),
        ("a: 1 # x\n", "a: 1 # y\n", "a: 1 # z\n", "# z\na: 1 # y\n"),
        ("a: 1\n", "a: 2\n", "a: 1 # y\n", "# y\na: 2\n"),
        ("a: 1\n# x\n", "a: 1\n# y\n", "a: 1\n# z\n", "a: 1\n# y\n# z\n"),
        ("a: 1\n# x\n", "a: 1\n", "a: 1\n# z\n", "a: 1\n# z\n"),
        ("# x\na: 1\n", "# x\r\na: 1\r\n", "# y\na: 1\n", "# y\na: 1\n"),
        ("a:\n# x\n- 1\n", "a:\n# x\n- 2\n", "a:\n# y\n- 1\n", "a:\n# y\n- 2\n"),
        ("a: |\n  x # no\n", "a: | # y\n  x # no\n", "a: |\n  # no\n", '# y\na: "# no\\n"\n'),
        ("a: 1\nb: 1\n", "b: 1\n", "a: 1 # y\nb: 1\n", "# y\nb: 1\n"),
        ("a: 1\nb: 1\n", "a: 1\n", "a: |\n  x\nb: 1\n  # y\n", "a: |\n  x\n# y\n"),
        ("{a: 1} # x\n", "{a: 2} # x\n", "{a: 1} # y\n", "a: 2\n# y\n"),
        (None, "# o\na: 1\n", "# t\na: 1\n", "# o\n# t\na: 1\n"),
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
    ("base", "ours", "theirs", "expected"),
    [
        ("a: 1\nb: 1\n", "", "# t\na: 1\n", "# t\n"),
        ("a: 1 # x\nb: 1\n", "# o\nb: 1\n", "", "# o\n"),
        ("a: 1\nb: 1\n", "# o\nb: 1\n", "a: 1 # t\n", "# o\n# t\n"),
        ("a: 1\nb: 1\n", "b: 1 # x\n", "# x\na: 1\nb: 1\n", "b: 1 # x\n"),
        ("a: 1\nb: 1\n", "b: 1 # x\n", "a: 1 # x\n", "# x\n# x\n"),
        ("a: 1\n# x\n", "", "a: 1 # t\n# x\n# y\n", "# t\n# y\n"),
    ],
)
def test_a_comment_whose_key_went_is_there_once_however_often_it_is_merged(base, ours, theirs, expected):
    merged = merge_front(base, ours, theirs).source
    assert merged == expected
    for one, other in ((merged, theirs), (ours, merged)):
        assert sorted(texts_of(merge_front(base, one, other).source or "")) == sorted(texts_of(expected))


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


@settings(max_examples=60, deadline=None)
@given(EDIT, EDIT)
def test_edits_of_different_keys_all_arrive(mine, yours):
    yours = {key: value for key, value in yours.items() if key not in mine}
    result = merge_front(START, splice(START, mine), splice(START, yours))
    assert result.clashes == []
    wanted = {k: v for k, v in {**load(START), **mine, **yours}.items() if v is not None}
    assert load(result.source or "") == wanted


NOTES = ["# n1", "# n2", "# n3"]


@st.composite
def commented(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for key in draw(st.sampled_from([["a"], ["a", "b"], ["b"]])):
        lines += draw(st.lists(st.sampled_from(NOTES), max_size=2))
        lines.append(key + draw(st.sampled_from([": 1", ": 2", ": '1'", ":\n  - x", ": |\n  # no"])))
        lines[-1] += draw(st.sampled_from(["", "", "\n  # n1", " # n2"])) if "|" not in lines[-1] else ""
    lines += draw(st.lists(st.sampled_from(NOTES), max_size=1))
    return draw(st.sampled_from(["\n", "\n", "\r\n"])).join([*lines, ""])


@settings(max_examples=60, deadline=None)
@given(commented(), commented(), commented())
def test_no_comment_that_one_side_added_is_lost(base, ours, theirs):
    one, other = merge_front(base, ours, theirs), merge_front(base, theirs, ours)
    assume(not one.clashes)
    found = [set(texts_of(side or "")) for side in (base, ours, theirs, one.source, other.source)]
    assert found[3] == found[4]
    assert (found[1] | found[2]) - found[0] <= found[3] <= found[0] | found[1] | found[2]
    assert found[1] & found[2] <= found[3] | found[0]
    if all(len(texts_of(side)) == len(set(texts_of(side))) for side in (base, ours, theirs)):
        again = merge_front(base, one.source, theirs)
        assert set(texts_of(again.source or "")) == found[3]
