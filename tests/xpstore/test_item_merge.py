from __future__ import annotations

from tests.builders import delete, page, upsert
from tests.scripted import Scripted, keeping
from xpstore.errors import Conflict
from xpstore.hashing import blob_id
from xpstore.item_merge import by_decision, by_rule
from xpstore.resolution import Asking

FIRST = page("a", "Be short.")


def test_an_item_is_made_to_fit_what_the_branch_has():
    ours = page("a", "Be short.", "One.")
    made = by_rule(upsert("a", page("a", "Be short.", "Two."), FIRST), ours)
    assert made is not None
    assert (made.item.before_content, made.item.after_content) == (
        ours,
        page("a", "Be short.", "One.", "Two."),
    )
    assert (made.page.base, made.page.ours) == (blob_id(FIRST), blob_id(ours))
    assert not made.is_there


def test_what_the_branch_has_already_is_there():
    ours = page("a", "Be short.", "Two.", "One.")
    made = by_rule(upsert("a", page("a", "Be short.", "Two."), FIRST), ours)
    assert made is not None
    assert made.is_there


def test_a_statement_that_both_took_out_with_the_rest_of_the_page_is_a_deletion():
    made = by_rule(delete("a", FIRST), FIRST)
    assert made is not None
    assert (made.item.kind, made.item.after_content) == ("delete_experience", None)


def test_what_both_changed_is_decided_or_nothing():
    ours, theirs = (page("a", "Be short.", lesson) for lesson in ("Always ask.", "Never ask."))
    item = upsert("a", theirs, FIRST)
    conflict = Conflict("a", FIRST, ours, theirs)
    assert by_rule(item, ours) is None
    assert by_decision(item, conflict, Asking()) is None
    made = by_decision(item, conflict, Asking(Scripted([keeping("- Never ask.")])))
    assert made is not None
    assert (made.item.after_content, made.page.resolved_by) == (theirs, "scripted/1")
