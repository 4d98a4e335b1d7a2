from __future__ import annotations

import pytest

from tests.trainer.llm_learner.edits import context_of, edit, text
from trainer.llm_learner.grouping import groups_of
from trainer.llm_learner.union import union_of
from xpstore.errors import DocumentError

OLD = text("a", "One.", "Two.", "Three.")


def union(*edits, first=1, **pages):
    context = context_of(*edits, **pages)
    (group,) = groups_of(context, 16)
    return union_of(group, context, first)


def rows(found):
    return [(s.number, s.text, sorted(s.added_by), sorted(s.taken_by)) for s in found.statements]


def test_statements_are_numbered_where_they_stand_or_would_stand():
    one = edit("a", OLD, text("a", "One.", "New.", "Two.", "Three."))
    two = edit("a", OLD, text("a", "One.", "Other.", "Second.", "Three."))
    found = union(one, two, first=7, a=OLD)
    assert rows(found) == [
        (7, "- One.", [], []),
        (8, "- New.", [1], []),
        (9, "- Other.", [2], []),
        (10, "- Second.", [2], []),
        (11, "- Two.", [], [2]),
        (12, "- Three.", [], []),
    ]
    assert [s.is_open for s in found.of("a")] == [False, True, True, True, True, False]
    assert found.by_number[9].text == "- Other."
    assert found.gradients({2, 1}) == (one.id, two.id)


def test_what_two_edits_add_is_one_statement_and_what_is_there_is_not_added():
    edits = [edit("a", OLD, text("a", "One.", "Two.", "Three.", "New.")) for _ in range(2)]
    moved = text("a", "One.", "Three.", "By hand.")
    assert rows(union(*edits, a=moved)) == [
        (1, "- One.", [], []),
        (2, "- Three.", [], []),
        (3, "- New.", [1, 2], []),
        (4, "- By hand.", [], []),
    ]
    assert rows(union(*edits, a=text("a", "New.")))[0] == (1, "- New.", [], [])


def test_a_deletion_takes_out_nothing_by_itself():
    gone = edit("a", OLD, None)
    assert rows(union(gone, a=OLD)) == [
        (n, f"- {w}.", [], []) for n, w in enumerate(("One", "Two", "Three"), 1)
    ]


def test_front_matter_is_joined_and_descriptions_are_proposed():
    one = edit("new", None, text("new", "One.").replace("When new", "When one"))
    two = edit("new", None, text("new", "Two.").replace("When new", "When two"))
    found = union(one, two)
    assert found.current == {"new": None}
    assert found.heads["new"].front["description"] == "When one is asked for"
    assert found.descriptions == {"new": ("When one is asked for", "When two is asked for")}
    tagged = edit("a", OLD, OLD.replace("status: production", "status: production\ntags: [x]"))
    both = union(tagged, edit("a", OLD, text("a", "One.", "Two.")), a=OLD)
    assert both.heads["a"].front["tags"] == ["x"]
    assert both.heads["a"].text.endswith(OLD.partition("status: production")[2])
    assert both.descriptions == {}


def test_other_front_matter_that_excludes_itself_is_no_question():
    edits = [edit("a", OLD, OLD.replace("production", status)) for status in ("draft", "archived")]
    with pytest.raises(DocumentError, match="exclude each other"):
        union(*edits, a=OLD)
