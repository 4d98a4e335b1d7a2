from __future__ import annotations

from tests.trainer.doubles import page
from trainer.plan_parts import GRADIENTS, independent_parts, refused_parts
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan, RolloutRef


def item(name, before=None, after="new"):
    return PolicyPlanItem(
        kind="upsert_experience" if after is not None else "delete_experience",
        target_experience_name=name,
        before_content=before,
        after_content=page(name, after) if after == "new" else after,
    )


def gradient(name, *, supersedes=(), rollouts=()):
    return PatchSemanticGradient(
        before_file=None,
        after_file=MemoryFile(name=name, content=page(name, "new")),
        rationale=f"why {name}",
        rollouts=rollouts,
        supersedes=supersedes,
        confidence=0.5,
    )


def test_no_items_no_parts():
    assert independent_parts(PolicyUpdatePlan()) == []


def test_items_that_share_nothing_become_plans_of_their_own():
    plan = PolicyUpdatePlan(
        items=(item("b"), item("a")),
        gradients=(gradient("b", rollouts=("r2",)), gradient("a", rollouts=("r1",))),
        rollouts=(RolloutRef(id="r1", passed=True), RolloutRef(id="r2", passed=False)),
    )
    first, second = independent_parts(plan)
    assert [i.target_experience_name for i in first.items] == ["a"]
    assert [r.id for r in first.rollouts] == ["r1"]
    assert [g.target_experience_name for g in second.gradients] == ["b"]
    assert first.plan_id != second.plan_id
    assert second.rationale == "Evidence: 1 rollout, 1 failed.\n\nwhy b"


def test_what_one_gradient_touches_stays_together():
    plan = PolicyUpdatePlan(
        items=(item("new-page"), item("old", before=page("old", "x"), after=None), item("other")),
        gradients=(gradient("new-page", supersedes=("old",)), gradient("other")),
    )
    parts = independent_parts(plan)
    assert [[i.target_experience_name for i in p.items] for p in parts] == [["new-page", "old"], ["other"]]


def test_three_items_chained_by_two_gradients_are_one_part():
    plan = PolicyUpdatePlan(
        items=(item("a"), item("b"), item("c")),
        gradients=(gradient("a", supersedes=("b",)), gradient("b", supersedes=("c",))),
    )
    assert len(independent_parts(plan)) == 1


def test_the_subject_says_what_changes():
    learned = PolicyUpdatePlan(items=(item("a"),))
    updated = PolicyUpdatePlan(
        items=(item("a", before=page("a", "x\n  *Support: 1.*"), after=page("a", "x\n  *Support: 2.*\n- y")),)
    )
    removed = PolicyUpdatePlan(items=(item("a", before=page("a", "x"), after=None),))
    assert independent_parts(learned)[0].subject == "a: learn 1 lesson"
    assert independent_parts(updated)[0].subject == "a: learn 1 lesson, update 1"
    assert independent_parts(removed)[0].subject == "a: remove the page"


def test_a_subject_of_ones_own_is_kept():
    plan = PolicyUpdatePlan(items=(item("a"),), subject="Promote a", rationale="because")
    (part,) = independent_parts(plan)
    assert (part.subject, part.rationale) == ("Promote a", "because")


def test_every_edit_that_was_refused_is_a_plan_of_its_own_on_its_own_base():
    one, two, fine = gradient("a", rollouts=("r1",)), gradient("a", rollouts=("r2",)), gradient("b")
    two = two.model_copy(update={"base_commit": "1" * 40})
    plan = PolicyUpdatePlan(
        items=(item("b"),), base_commit="2" * 40, run_id="run-1", metadata={"refused": {"a": "why"}}
    )
    first, second = refused_parts([one, two, fine], plan)
    assert [p.gradients for p in (first, second)] == [(one,), (two,)]
    assert [p.base_commit for p in (first, second)] == ["2" * 40, "1" * 40]
    assert first.items[0].after_content == page("a", "new")
    assert first.plan_id != second.plan_id
    assert (first.run_id, first.metadata) == ("run-1", {})
    assert refused_parts([fine], PolicyUpdatePlan()) == []


def test_pages_that_a_gradients_statements_went_to_stay_together():
    one, two, three = (gradient(name, rollouts=(f"r-{name}",)) for name in ("a", "b", "c"))
    split = item("a-more").model_copy(update={"metadata": {GRADIENTS: [one.id]}})
    taken = item("d").model_copy(update={"metadata": {GRADIENTS: [two.id]}})
    plan = PolicyUpdatePlan(items=(item("a"), split, taken, item("c")), gradients=(one, two, three))
    parts = independent_parts(plan)
    assert [[i.target_experience_name for i in p.items] for p in parts] == [["a", "a-more"], ["c"], ["d"]]
    assert [p.gradients for p in parts] == [(one,), (three,), (two,)]
