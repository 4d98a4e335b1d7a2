from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.llm_learner.edits import context_of, edit, text
from trainer.llm_learner.grouping import Group, groups_of, packed
from trainer.patch_merge import PatchMergePatch

ZIP = "Ask for the order number and the zip code before you cancel."
SAME = "Ask for the order number and zip code before you cancel anything."
SEATS = "Window seats are free of charge for gold members on long flights."


def shape(context, most=16):
    return [(list(g.targets), len(g.patches), set(g.pages), g.meets) for g in groups_of(context, most)]


def test_edits_of_pages_that_say_other_things_do_not_meet():
    context = context_of(edit("a", None, text("a", ZIP)), edit("b", None, text("b", SEATS)))
    assert shape(context) == [(["a"], 1, {"a"}, False), (["b"], 1, {"b"}, False)]


def test_edits_of_one_page_meet():
    old = text("a", "Be short.")
    edits = [edit("a", old, text("a", "Be short.", more)) for more in (ZIP, SEATS)]
    assert shape(context_of(*edits, a=old)) == [(["a"], 2, {"a"}, True)]


def test_new_pages_and_old_ones_meet_where_a_statement_is_close_or_the_opposite():
    new = edit("cancel", None, text("cancel", ZIP))
    assert shape(context_of(new, other=text("other", SAME, SEATS)))[0][2:] == ({"cancel", "other"}, True)
    other = edit("other", None, text("other", SAME))
    assert shape(context_of(new, other)) == [(["cancel", "other"], 2, {"cancel", "other"}, True)]
    never = edit("b", None, text("b", "IF the fare is basic DO NOT call `cancel_order`"))
    always = text("c", "IF the fare is basic DO call `cancel_order` at once for the customer")
    assert shape(context_of(never, c=always))[0][2:] == ({"b", "c"}, True)


def test_what_supersedes_another_page_meets_it_and_a_deletion_always_meets():
    new = edit("a", None, text("a", ZIP), supersedes=("old",))
    assert shape(context_of(new, old=text("old", SEATS)))[0][2:] == ({"a", "old"}, True)
    gone = edit("old", text("old", SEATS), None)
    assert shape(context_of(gone, old=text("old", SEATS)))[0][3]


@pytest.mark.parametrize(("now", "meets"), [(("Be short.", SEATS), False), (("Be short and kind.",), True)])
def test_an_edit_of_a_page_that_moved_on_meets_only_what_it_changes_too(now, meets):
    old = text("a", "Be short.")
    one = edit("a", old, text("a", "Be short and polite."))
    assert shape(context_of(one, a=text("a", *now)))[0][3] is meets


def test_a_large_group_is_cut_between_targets_where_that_can_be():
    edits = [
        edit(name, None, text(name, ZIP, f"Lesson {n}."))
        for name, k in (("a", 3), ("b", 3))
        for n in range(k)
    ]
    assert [row[:2] for row in shape(context_of(*edits), most=4)] == [(["a"], 3), (["b"], 3)]
    assert [row[1] for row in shape(context_of(*edits), most=2)] == [2, 1, 2, 1]


def test_meaning_joins_what_words_do_not():
    context = context_of(edit("a", None, text("a", ZIP)), edit("b", None, text("b", SEATS)))
    joined = context.model_copy(update={"near": {"a": ("b",)}, "by_meaning": True})
    assert shape(joined) == [(["a", "b"], 2, {"a", "b"}, True)]


PATCH = PatchMergePatch.from_gradient(edit("a", None, text("a", ZIP)))


@settings(deadline=None)
@given(st.lists(st.integers(1, 16), max_size=40))
def test_questions_are_few(sizes):
    groups = [Group((PATCH,) * n, ("a",), meets=True) for n in sizes]
    questions = packed(groups, 16)
    assert sorted(len(g.patches) for q in questions for g in q) == sorted(sizes)
    assert all(sum(len(g.patches) for g in q) <= 16 for q in questions)
    assert len(questions) <= 2 * -(-sum(sizes) // 16)
