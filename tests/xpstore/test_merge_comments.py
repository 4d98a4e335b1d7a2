from __future__ import annotations

import pytest

from xpstore.merge_comments import merged_comments, texts_of, with_comments


def test_text_in_values_is_no_comment():
    assert texts_of("# x\na: 'n # o' # y\nb: |\n  # no\nc: d#e\n# \u00fc\u4e2d \n") == [
        "# x",
        "# y",
        "# \u00fc\u4e2d",
    ]


def test_what_one_side_took_away_goes_and_what_either_added_stays():
    assert merged_comments("# a\n# b\n", "# b\n# o\n", "# a\n# b\n# t\n") == ["# b", "# o", "# t"]


@pytest.mark.parametrize(
    ("source", "wanted", "expected"),
    [
        ("# x\na: 1 # y\n", ["# x", "# y"], "# x\na: 1 # y\n"),
        ("# x\na: 1 # y\n", [], "a: 1\n"),
        ("# x\na: 1 # y\n", ["# x", "# z"], "# x\na: 1 # z\n"),
        ("# x\na: 1\n", ["# x", "# z"], "# x\n# z\na: 1\n"),
        ("a:\n  # x\n  - 1\n", [], "a:\n  - 1\n"),
        ("", ["# x"], "# x\n"),
    ],
)
def test_comments_take_the_place_of_those_that_go(source, wanted, expected):
    assert with_comments(source, wanted, ["a: 3 # z\n"] if "y" in source else []) == expected
