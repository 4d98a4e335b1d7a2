from __future__ import annotations

import pytest

from tests.scripted import Scripted, keeping
from xpstore.by_hand import TakeSide
from xpstore.hashing import blob_id
from xpstore.merge import merge
from xpstore.merged_page import MergedPage, deciders
from xpstore.resolution import Asking

BLOBS = ("1" * 40, "2" * 40, "3" * 40)
OPPOSITE = ("- x\n", "- x\n- Always ask.\n", "- x\n- Never ask.\n")


def test_it_keeps_who_decided_and_what_became_of_every_statement():
    result = Asking(Scripted([keeping("- Never ask.")]))(*OPPOSITE, "a.md")
    made = MergedPage.of("a", BLOBS, result)
    assert (made.base, made.ours, made.theirs) == BLOBS
    assert (made.result, made.verdict, made.resolved_by) == (
        blob_id("- x\n- Never ask.\n"),
        "VERIFIED",
        "scripted/1",
    )
    assert [(e.text, e.side, e.change, e.fate, e.reason) for e in made.account] == [
        ("- Always ask.", "ours", "added", "dropped", "the opposite stays"),
        ("- Never ask.", "theirs", "added", "kept", ""),
    ]
    assert MergedPage.model_validate(made.model_dump(mode="json")) == made


def test_nobody_is_named_where_nothing_overlapped():
    made = MergedPage.of("a", BLOBS, merge("- x\n", "- x\n- o\n", "- t\n- x\n"))
    assert (made.verdict, made.resolved_by) == ("PROVEN", "")
    assert {(e.text, e.fate) for e in made.account} == {("- o", "kept"), ("- t", "kept")}


def test_the_rule_is_named_that_keeps_what_both_reworded():
    made = MergedPage.of("a", BLOBS, Asking()("- a\n  - x\n", "- a\n  - y\n", "- a\n  - z\n", "a.md"))
    assert (made.verdict, made.resolved_by) == ("PROVEN", "offline/1")
    assert [(e.side, e.fate) for e in made.account] == [("ours", "kept"), ("theirs", "kept")]


def test_what_was_refused_is_no_merge():
    with pytest.raises(ValueError, match="a was not merged"):
        MergedPage.of("a", BLOBS, merge(*OPPOSITE))


def test_all_who_decided_are_named_once():
    one, other = (
        MergedPage.of("a", BLOBS, decide(*OPPOSITE, "a.md"))
        for decide in (Asking(Scripted([keeping("- Never ask.")])), TakeSide("ours"))
    )
    assert deciders([one, other, one], "offline/1") == "offline/1, scripted/1, person"
    assert deciders([], "") == ""
