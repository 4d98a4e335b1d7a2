from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xpstore.merge_order import identify, weave


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("", "", "", ""),
        ("ab", "ab", "ab", "ab"),
        ("ab", "xab", "aby", "xaby"),
        ("ab", "axb", "ayb", "axyb"),
        ("ab", "xab", "yab", "xyab"),
        ("ab", "axyb", "ab", "axyb"),
        ("ab", "b", "axb", "xb"),
        ("abc", "ac", "ab", "a"),
        ("abc", "cab", "abcx", "cxab"),
        ("abc", "abxc", "cab", "cabx"),
        ("abc", "bac", "cba", "bac"),
        ("", "ab", "ac", "abc"),
        ("", "ab", "ba", "ab"),
        ("a", "xay", "xaz", "xayz"),
        ("a", "", "ab", "b"),
    ],
)
def test_weave(base, ours, theirs, expected):
    assert "".join(weave(base, ours, theirs)) == expected


SIDE = st.lists(st.sampled_from("abcdef"), unique=True)


@given(SIDE, SIDE, SIDE)
def test_a_weave_has_what_is_shared_or_added_once(base, ours, theirs):
    result = weave(base, ours, theirs)
    kept = {x for x in {*base, *ours, *theirs} if (x in ours and x in theirs) or (x not in base)}
    assert sorted(result) == sorted(kept)
    assert sorted(weave(base, theirs, ours)) == sorted(kept)


@given(SIDE, SIDE)
def test_weaving_a_side_with_itself_or_its_base_gives_the_side(base, side):
    assert weave(base, side, side) == side
    if set(base) <= set(side):
        assert weave(base, side, base) == side


def test_unique_keys_pair_by_key():
    assert identify([("a", "1"), ("b", "2")], [("b", "3")], [("c", "4"), ("a", "1")]) == [
        [("a", 0), ("b", 0)],
        [("b", 0)],
        [("c", 0), ("a", 0)],
    ]


def test_repeated_keys_pair_equal_texts_first():
    base = [("a", "1"), ("a", "2")]
    assert identify(base, [("a", "2")], [("a", "3"), ("a", "2")]) == [
        [("a", 0), ("a", 1)],
        [("a", 1)],
        [("a", 0), ("a", 1)],
    ]


def test_what_both_add_pairs_as_well():
    assert identify([], [("a", "1"), ("a", "2")], [("a", "2"), ("a", "3"), ("a", "4")]) == [
        [],
        [("a", 0), ("a", 1)],
        [("a", 1), ("a", 0), ("a", 2)],
    ]
