from __future__ import annotations

from tests.trainer.llm_learner.edits import context_of, edit, text
from trainer.llm_learner.grouping import groups_of
from trainer.llm_learner.merge_account import Account, accounts_of
from trainer.llm_learner.merge_form import MergeAnswer
from trainer.llm_learner.merge_operations import changed, guard, idle, operations
from trainer.llm_learner.union import union_of
from xpstore.settings import Limits

ZIP = "Ask for the order number and the zip code before you cancel."
SAME = "Ask for the order number and the zip code before you cancel anything."
SEATS = "Window seats are free of charge for gold members."
A, B = text("a", "Be short."), text("b", ZIP, SEATS)


def account(answer, *edits, **pages) -> Account:
    context = context_of(*edits, **pages)
    (group,) = groups_of(context, 16)
    value = MergeAnswer.model_validate({"account": [], "wordings": [], "pages": [], **answer})
    ((found, strays),) = accounts_of(value, [union_of(group, context)], context.names, "mark")
    assert not strays
    return found


def new_on_a():
    """An edit of a that is near b: 1 Be short, 2 SAME on a; 3 ZIP, 4 SEATS on b."""
    return edit("a", A, text("a", "Be short.", SAME))


def kept(number, page=""):
    return {"number": number, "fate": "kept", "page": page}


def test_pages_that_a_statement_connects_change_together():
    answer = {"account": [kept(2), {"number": 3, "fate": "merged", "into": 2}]}
    (cluster,) = changed(account(answer, new_on_a(), a=A, b=B))
    assert (list(cluster.pages), cluster.edits) == (["a", "b"], {1})
    apart = {"account": [kept(2)]}
    assert [list(c.pages) for c in changed(account(apart, new_on_a(), a=A, b=B))] == [["a"]]


def test_an_operation_says_which_gradients_and_statements_led_to_it():
    one = new_on_a()
    upsert, other = (
        operations(
            account({"account": [kept(2, "b"), {"number": 3, "fate": "merged", "into": 2}]}, one, a=A, b=B)
        )[:1]
        * 2
    )
    assert other is upsert
    assert (upsert.name, upsert.gradients) == ("b", (one.id,))
    assert [(row.page, row.fate, row.into) for row in upsert.account] == [
        ("a", "kept", "b"),
        ("b", "merged", f"- {SAME}"),
    ]
    assert upsert.account[0].gradients == (one.id,)
    assert upsert.account[1].gradients == ()


def test_pages_that_change_apart_are_operations_apart():
    other = edit("b", B, text("b", ZIP, SEATS, SAME))
    found = operations(account({"account": [kept(2), kept(5)]}, new_on_a(), other, a=A, b=B))
    assert [(o.name, o.gradients, o.account) for o in found] == [("a", (), ()), ("b", (), ())]


def test_what_no_edit_is_about_and_what_is_too_much_for_a_plan_is_named():
    moved = account({"account": [kept(2), kept(4, "c")]}, new_on_a(), a=A, b=B, c=text("c", SAME))
    assert any("no edit has to do with b, c" in problem for problem in guard(moved, Limits()))
    gone = account(
        {
            "account": [kept(2), {"number": 3, "fate": "merged", "into": 2}, kept(4, "a")],
            "pages": [{"page": "b", "change": "deleted"}],
        },
        new_on_a(),
        a=A,
        b=B,
    )
    assert list(guard(gone, Limits())) == []
    assert "deletions" in next(guard(gone, Limits(deletes_per_plan=0)))


def test_an_edit_that_comes_to_nothing_says_why():
    twin = edit("d", None, text("d", SAME))
    found = account({"account": [kept(2), {"number": 3, "fate": "merged", "into": 2}]}, new_on_a(), twin, a=A)
    assert idle(found) == {}  # its words are on a
    said = text("b", SAME)
    same = account({"account": [{"number": 2, "fate": "merged", "into": 3}]}, new_on_a(), a=A, b=said)
    assert idle(same) == {new_on_a().id: "the pages say already what it teaches"}
    left = account(
        {"account": [{"number": 2, "fate": "dropped", "reason": "b has it"}]}, new_on_a(), a=A, b=said
    )
    assert idle(left) == {new_on_a().id: "left out when edits were merged: b has it"}
