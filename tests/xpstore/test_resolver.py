from __future__ import annotations

import pytest

from xpstore.conflict import Hunk, Numbered, find_conflict
from xpstore.merge import merge
from xpstore.resolution_check import check
from xpstore.resolver import OFFLINE, Declined, OfflineResolver, Resolution, how_decided

ROWS = {
    "rewordings": ("- a b c\n- z\n", "- a b c d\n- z\n", "- a b c e\n- z\n"),
    "rewordings and additions": ("- a b c\n- z\n", "- a b c d\n- n\n- z\n", "- m\n- a b c e\n- z\n"),
    "nested lines": ("- a\n  - x\n", "- a\n  - y\n", "- a\n  - z\n"),
}


@pytest.mark.parametrize(
    ("name", "said"), [("", ""), (OFFLINE, ", kept both sides"), ("person", ", decided by person")]
)
def test_a_rule_that_keeps_both_sides_has_decided_nothing(name, said):
    assert how_decided(name) == said


@pytest.mark.parametrize("row", ROWS)
def test_the_union_passes_every_check(row):
    conflict = find_conflict(*ROWS[row], merge(*ROWS[row]))
    assert conflict is not None
    answer = OfflineResolver().resolve(conflict.hunks)
    assert isinstance(answer, Resolution)
    made = conflict.assemble(answer.decisions)
    assert made.verdict == "PROVEN"
    assert not [o for o in check(conflict, made.text or "", answer.account) if o.is_error]


@pytest.mark.parametrize("row", ROWS)
def test_the_union_says_what_the_merge_keeps(row):
    result = merge(*ROWS[row])
    conflict = find_conflict(*ROWS[row], result)
    assert conflict is not None
    answer = OfflineResolver().resolve(conflict.hunks)
    assert isinstance(answer, Resolution)
    made = conflict.assemble(answer.decisions)
    assert sorted((made.text or "").split("\n")) == sorted((result.text or "").split("\n"))


def hunk(ours: str, theirs: str, section: str = "A") -> Hunk:
    sides = [(text, side) for text, side in ((ours, "ours"), (theirs, "theirs")) if text]
    return Hunk(section, tuple(Numbered(n, section, t, frozenset([s])) for n, (t, s) in enumerate(sides, 1)))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (hunk("- Always ask.", "- Never ask."), "opposite"),
        (hunk("- a", ""), "removed"),
        (hunk("a: 1\n", "a: 2\n", "front matter"), "front matter"),
    ],
)
def test_the_offline_resolver_declines_what_is_a_choice(given, why):
    answer = OfflineResolver().resolve([given])
    assert isinstance(answer, Declined)
    assert why in answer.reason


def test_a_fixed_rule_has_no_second_answer():
    assert isinstance(OfflineResolver().resolve([hunk("- a", "- b")], ["lost"]), Declined)
