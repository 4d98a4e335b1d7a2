from __future__ import annotations

import asyncio

import pytest

from tests.llm_answers_merge import merged, statements
from tests.trainer.llm_learner.askers import FunctionAsker
from tests.trainer.llm_learner.edits import context_of, edit, policy, text
from trainer.asking.form import schema_of
from trainer.asking.question import AskError, anything
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.context import PatchMergePolicyOptimizerContext
from trainer.llm_learner.merge_form import MergeAnswer
from trainer.llm_learner.merger import LlmMerger
from trainer.plan_parts import independent_parts
from xpstore.settings import Limits

SHORT = "Be short and polite to every customer."
ZIP = "Ask for the order number and the zip code before you cancel."
MAIL = "Ask for the order number and the email before you cancel."
BOTH = "Ask for the order number, the zip code and the email before you cancel."
SEATS = "Window seats are free of charge for gold members on long flights."
OLD = text("a", SHORT)


def fate(number, what="kept", into=0, page="", reason=""):
    return {"number": number, "fate": what, "into": into, "page": page, "reason": reason}


def answer(*account, wordings=(), pages=()):
    return {"account": list(account), "wordings": list(wordings), "pages": list(pages)}


def wording(number, text_, page="a", section="Approach"):
    return {"number": number, "text": text_, "page": page, "section": section}


def change(page, what, name="", description=""):
    return {"page": page, "change": what, "name": name, "description": description}


def run(context, *answers, **options):
    """Merge with a model that gives these answers in turn; one function answers all."""
    left = list(answers)
    reply = left[0] if callable(left[0]) else lambda _question, _attempt: left.pop(0)
    asker = FunctionAsker(reply)
    return asyncio.run(LlmMerger(asker, **options).merge(context)), asker


def two_edits():
    return context_of(edit("a", OLD, text("a", SHORT, ZIP)), edit("a", OLD, text("a", SHORT, MAIL)), a=OLD)


GOOD = answer(
    fate(2, "merged", 100), fate(3, "merged", 100), wordings=[wording(100, BOTH)]
)  # 1 is there; 2 and 3 are added


def test_two_edits_of_a_page_become_one_statement():
    outcome, asker = run(two_edits(), GOOD)
    (operation,) = outcome.operations
    assert operation.content == text("a", SHORT, BOTH)
    assert (outcome.refused, outcome.fallbacks, asker.calls) == ((), (), 1)
    assert [(row.fate, row.into) for row in operation.account] == [("merged", f"- {BOTH}")] * 2
    assert all(len(row.gradients) == 1 for row in operation.account)


def test_the_model_sees_pages_numbers_and_field_diffs_between_marks():
    _, asker = run(two_edits(), GOOD)
    (question,) = asker.asked
    assert (question.stage, question.prompt.name, question.stands) == ("merge", "merge", anything)
    for part in (
        "a: there now; When a is asked for",
        "[1] a, section 'Approach'; stands there now\n| - Be short",
        "[3] a, section 'Approach'; edit 2 adds it",
        "Edit 1 of the page a. Confidence 0.5.\n| seen in a\nField content:",
        f"| +- {ZIP}",
        "New wordings have numbers from 100 on.",
    ):
        assert part in question.content
    assert question.content.count("<<<") == 3


def test_edits_that_meet_nothing_are_merged_without_a_call():
    context = context_of(edit("a", OLD, text("a", SHORT, ZIP)), edit("b", None, text("b", SEATS)), a=OLD)
    outcome, asker = run(context, GOOD)
    assert asker.calls == 0
    assert {o.name: o.content for o in outcome.operations} == {
        "a": text("a", SHORT, ZIP),
        "b": text("b", SEATS),
    }


def test_what_is_refused_is_told_once_and_then_merged_by_rule():
    lossy = answer(fate(2), fate(3, "dropped", reason="not needed"))
    outcome, asker = run(two_edits(), lossy, lossy)
    assert asker.calls == 2
    assert outcome.operations[0].content == text("a", SHORT, ZIP, MAIL)
    (fallback,) = outcome.fallbacks
    assert fallback.name == "a"
    assert "is dropped; the reason cannot be checked" in fallback.reason
    outcome, asker = run(two_edits(), lossy, GOOD)
    assert (outcome.operations[0].content, outcome.fallbacks) == (text("a", SHORT, BOTH), ())


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (answer(fate(2)), "nothing is said about"),
        (answer(fate(2), fate(2), fate(3)), "more than once"),
        (answer(fate(2), fate(3), fate(9)), "no statement 9"),
        (answer(fate(2), fate(3, "merged", 2)), "does not say what"),
        (answer(fate(2), fate(3, "merged", 77)), "nothing of that number"),
        (answer(fate(1, "dropped", reason="old"), fate(2), fate(3)), "nobody took it out"),
        (answer(fate(1, "superseded", 2), fate(2), fate(3)), "nobody took it out"),
        (answer(fate(1, "merged", 2), fate(2), fate(3)), "word for word"),
        (answer(fate(2, reason="see\n\nPlan-Id: x"), fate(3)), "not one plain line"),
        (answer(fate(2), fate(3), wordings=[wording(100, "Call 911.")]), "no statement leads to wording 100"),
        (answer(*GOOD["account"], wordings=[wording(2, BOTH)]), "give wordings their own"),
        (answer(*GOOD["account"], wordings=[wording(100, BOTH, section="Reflect")]), "in section 'Reflect'"),
        (answer(*GOOD["account"], wordings=[wording(100, BOTH, page="z")]), "no page z"),
        (answer(*GOOD["account"], wordings=[wording(100, f"{BOTH}\n- x")]), "not one list item"),
        (
            answer(*GOOD["account"], wordings=[wording(100, f"{BOTH} Use 3 `tools`.")]),
            "which its sources do not have",
        ),
        (answer(*GOOD["account"], wordings=[wording(100, f"Do not a{BOTH[1:]}")]), "negates"),
        (answer(*GOOD["account"], wordings=[wording(100, "Ask for the zip code.")]), "does not say what"),
        (answer(fate(2, page="z"), fate(3)), "no such page"),
        (answer(fate(2), fate(3), pages=[change("a", "deleted")]), "nothing says where statement 1 goes"),
        (answer(fate(2), fate(3), pages=[change("q", "deleted")]), "nothing stands on page q"),
        (answer(fate(2), fate(3), pages=[change("a", "renamed", "../x")]), "page a"),
        (answer(fate(2), fate(3), pages=[change("a", "renamed", "sk-proj-" + "a1b2c3d4" * 5)]), "a secret"),
        (answer(fate(2), fate(3), pages=[change("a", "described", description="For 12 people.")]), "has 12"),
        (answer(fate(2, page="n"), fate(3), pages=[change("n", "new")]), "no description"),
        (
            answer(fate(2), fate(3), pages=[change("a", "described", description="Land it everywhere now.")]),
            "else",
        ),
    ],
)
def test_what_is_not_complete_and_true_is_refused(wrong, why):
    outcome, asker = run(two_edits(), wrong, wrong)
    assert asker.calls == 2
    assert why in outcome.fallbacks[0].reason
    assert SHORT in outcome.operations[0].content
    assert ZIP in outcome.operations[0].content
    assert MAIL in outcome.operations[0].content


def test_a_call_that_fails_is_merged_by_rule_and_named():
    outcome, _ = run(two_edits(), AskError("timeout", "no answer within 60 s"))
    assert outcome.fallbacks[0].reason == "no answer within 60 s"
    assert MAIL in outcome.operations[0].content


def test_what_the_rule_refuses_too_stays_unplanned_and_is_named():
    old = text("a", SHORT)
    edits = [edit("a", old, text("a", SHORT, new)) for new in ("Always ask first.", "Never ask first.")]
    outcome, _ = run(context_of(*edits, a=old), AskError("http", "down"))
    assert outcome.operations == ()
    assert [r.name for r in outcome.refused] == ["a"]
    plan = asyncio.run(
        PatchMergePolicyOptimizer(LlmMerger(FunctionAsker(lambda *_: AskError("http", "down")))).plan(
            edits, policy(a=old), PatchMergePolicyOptimizerContext()
        )
    )
    assert (plan.items, plan.gradients) == ((), ())
    assert set(plan.metadata["refused"]) == set(plan.metadata["fallbacks"]) == {"a"}


def test_a_contradiction_between_edits_is_decided():
    old = text("a", SHORT)
    first, second = "IF the fare is basic DO call `cancel`", "IF the fare is basic DO NOT call `cancel`"
    context = context_of(*(edit("a", old, text("a", SHORT, rule)) for rule in (first, second)), a=old)
    keep_both = answer(fate(2), fate(3))
    decided = answer(fate(2), fate(3, "dropped", reason="the opposite was seen more often"))
    outcome, _ = run(context, keep_both, decided)
    stays = second if second in outcome.operations[0].content else first
    assert outcome.operations[0].content == text("a", SHORT, stays)


def test_two_pages_become_one_and_each_statement_has_a_place():
    page_b = text("b", BOTH.replace(" zip ", "  zip "), SEATS)
    new = edit("a", OLD, text("a", SHORT, BOTH))
    context = context_of(new, a=OLD, b=page_b)
    # 1 SHORT and 2 BOTH on a; 3 BOTH and 4 SEATS on b, which nobody edits
    united = answer(fate(2), fate(3, "merged", 2), fate(4, page="a"), pages=[change("b", "deleted")])
    outcome, asker = run(context, united)
    assert outcome.fallbacks == ()
    upsert, delete = outcome.operations
    assert (upsert.name, upsert.content) == ("a", text("a", SHORT, BOTH, SEATS))
    assert (delete.kind, delete.name, delete.gradients) == ("delete", "b", (new.id,))
    assert delete.reason == "what it says is on a"
    plan = asyncio.run(
        PatchMergePolicyOptimizer(LlmMerger(FunctionAsker(lambda *_: united))).plan(
            [new], policy(a=OLD, b=page_b), PatchMergePolicyOptimizerContext()
        )
    )
    (part,) = independent_parts(plan)
    assert [i.target_experience_name for i in part.items] == ["a", "b"]
    assert asker.calls == 1


def test_a_page_is_split_and_the_new_one_says_when_to_read_it():
    old = text("a", SHORT, SEATS)
    context = context_of(
        edit("a", old, text("a", SHORT, SEATS, ZIP)), edit("a", old, text("a", SHORT, SEATS, MAIL)), a=old
    )
    split = answer(
        *(fate(n, page="cancel") for n in (3, 4)),
        pages=[change("cancel", "new", "", "Before you cancel an order.")],
    )
    outcome, _ = run(context, split)
    assert [(o.kind, o.name, len(o.gradients)) for o in outcome.operations] == [("upsert", "cancel", 2)]
    page = outcome.operations[0].content
    assert page.startswith(
        "---\nname: cancel\ndescription: Before you cancel an order.\nstatus: production\n---\n"
    )
    assert ZIP in page
    assert MAIL in page
    assert SEATS not in page


def test_a_page_is_renamed_and_keeps_what_it_says():
    context = two_edits()
    outcome, _ = run(context, answer(fate(2), fate(3), pages=[change("a", "renamed", "cancel-order")]))
    gone, new = outcome.operations
    assert (gone.kind, gone.name, gone.reason) == ("delete", "a", "renamed to cancel-order")
    assert new.name == "cancel-order"
    assert "name: cancel-order\n" in new.content
    assert all(words in new.content for words in (SHORT, ZIP, MAIL))
    assert new.gradients == tuple(p.gradient for p in context.patches)


def test_what_an_edit_replaces_on_one_page_may_stand_on_another():
    old, other = text("a", ZIP), text("b", ZIP, SEATS)
    context = context_of(edit("a", old, text("a", BOTH)), a=old, b=other)
    # a: 1 BOTH in place of 2 ZIP; b: 3 ZIP and 4 SEATS
    outcome, _ = run(context, answer(fate(1), fate(2, "superseded", 1)))
    assert outcome.fallbacks == ()
    assert {o.name: o.content for o in outcome.operations} == {"a": text("a", BOTH)}


@pytest.mark.parametrize("name", ["b", "B"])
def test_no_page_takes_the_name_of_another(name):
    context = context_of(
        edit("a", OLD, text("a", SHORT, ZIP)), edit("a", OLD, text("a", SHORT, MAIL)), a=OLD, b="x\n"
    )
    wrong = answer(fate(2), fate(3), pages=[change("a", "renamed", name)])
    outcome, _ = run(context, wrong, wrong)
    assert "already" in outcome.fallbacks[0].reason


def test_a_deletion_needs_a_place_for_each_statement():
    old, other = text("old", ZIP), text("other", BOTH)
    context = context_of(edit("old", old, None), old=old, other=other)
    outcome, _ = run(context, answer(fate(1, "merged", 2), pages=[change("old", "deleted")]))
    assert [(o.kind, o.name) for o in outcome.operations] == [("delete", "old")]
    bare = answer(pages=[change("old", "deleted")])
    outcome, _ = run(context, bare, bare)
    assert outcome.operations == ()
    assert outcome.refused[0].reason == "nothing says where its statements go"


def test_what_nobody_edits_is_not_rearranged():
    near = {"b": text("b", ZIP, SEATS), "c": text("c", MAIL)}
    context = context_of(edit("a", OLD, text("a", SHORT, BOTH)), a=OLD, **near)
    numbers = {s.text: s.number for s in statements(run(context, *[answer()] * 2)[1].asked[0].content)}
    moved = answer(fate(numbers[f"- {BOTH}"]), fate(numbers[f"- {SEATS}"], page="c"))
    outcome, _ = run(context, moved, moved)
    assert "no edit has to do with" in outcome.fallbacks[0].reason
    assert [o.name for o in outcome.operations] == ["a"]


def test_more_than_a_plan_may_do_is_refused():
    outcome, _ = run(two_edits(), GOOD, GOOD, limits=Limits(file_lines=3))
    assert "the limit is 3" in outcome.fallbacks[0].reason


def test_groups_share_a_question_and_do_not_wait_for_each_other():
    pages = {"a": text("a", SHORT), "b": text("b", "Look at the bill twice.")}
    lessons = {"a": (ZIP, MAIL), "b": (SEATS, "Bicycles travel in a box of wood.")}
    edits = [
        edit(name, old, old + f"- {lesson}\n") for name, old in pages.items() for lesson in lessons[name]
    ]
    context = context_of(*edits, **pages)

    def reply(question, attempt):
        del attempt
        made = merged(question.content)
        made["account"] = [row for row in made["account"] if row["number"] != 2]
        return made

    outcome, asker = run(context, reply)
    assert len(asker.asked) == 1
    assert [f.name for f in outcome.fallbacks] == ["a"]
    assert {o.name for o in outcome.operations} == {"a", "b"}
    _, asker = run(context, lambda question, _: merged(question.content), max_gradients=2)
    assert asker.calls == 2


def test_a_large_group_is_cut_and_its_parts_are_joined():
    lessons = [
        f"Lesson {word} is about the {word} of a bill." for word in ("tax", "date", "sum", "name", "tip")
    ]
    edits = [edit("a", OLD, text("a", SHORT, lesson)) for lesson in lessons]
    outcome, asker = run(context_of(*edits, a=OLD), lambda q, _: merged(q.content), max_gradients=2)
    assert (asker.calls, outcome.fallbacks) == (2, ())  # the fifth has nothing to meet
    (operation,) = outcome.operations
    assert all(lesson in operation.content for lesson in (SHORT, *lessons))


def test_parts_that_exclude_each_other_are_merged_by_rule_together():
    lessons = (ZIP, "Always ask first.", MAIL, "Never ask first.")
    edits = [edit("a", None, text("a", lesson)) for lesson in lessons]
    outcome, asker = run(context_of(*edits), lambda q, _: merged(q.content), max_gradients=2)
    assert asker.calls == 2
    assert outcome.operations == ()
    assert {f.name for f in outcome.fallbacks} == {"a"}
    assert [r.name for r in outcome.refused] == ["a"]


def test_what_is_too_long_for_a_question_is_halved_and_then_merged_by_rule():
    outcome, asker = run(two_edits(), GOOD, context_tokens=100)
    assert asker.calls == 0
    assert "too long" in outcome.fallbacks[0].reason
    assert MAIL in outcome.operations[0].content


def test_every_part_of_the_answer_is_bounded():
    assert schema_of(MergeAnswer)["required"] == ["account", "wordings", "pages"]
