from __future__ import annotations

from tests.trainer.doubles import page, rollout
from trainer.domain import EditResult, RolloutAnalysis, RolloutFailure, RubricEvaluation
from trainer.engine import Planned
from trainer.outcome import NO_LESSON, Outcome
from xpstore.experience import ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.plan import PolicyApplyResult, PolicyPlanItem, PolicyUpdatePlan


def analysed(case):
    return RolloutAnalysis(rollout=rollout(case), evaluation=RubricEvaluation(passed=True, score=1.0))


def edit(case, *cases):
    return PatchSemanticGradient(
        before_file=None,
        after_file=MemoryFile(name=case, content=page(case, "Ask.")),
        rationale="it worked",
        rollouts=tuple(rollout(c).id for c in cases),
        confidence=0.5,
    )


def outcome(names, gradients, planned, *, refused=(), missed=(), said=None):
    items = tuple(
        PolicyPlanItem(
            kind="upsert_experience",
            target_experience_name=n,
            before_content=None,
            after_content=page(n, "Ask."),
        )
        for n in planned
    )
    plan = PolicyUpdatePlan(
        items=items, gradients=tuple(gradients), metadata={"refused": dict.fromkeys(refused, "no"), "a": 1}
    )
    result = PolicyApplyResult(
        updated_policy_set=ExperienceSet(root_uri=""), metadata={"refused": {"z": "suspect"}, "b": 2}
    )
    edits = EditResult(gradients=tuple(gradients), nothing=said or {}, report={"tried": 3})
    failures = [RolloutFailure(rollout=rollout(c).id, case=c, stage="estimate", error="x") for c in missed]
    return Outcome.of([analysed(n) for n in names], edits, failures, Planned(plan, result))


def test_every_rollout_is_cited_failed_or_taught_nothing_for_a_reason():
    gradients = [edit("a", "a"), edit("same", "same"), edit("b", "b")]
    said = {rollout("dull").id: "it is dull"}
    made = outcome(
        ["a", "same", "b", "bad", "dull", "mute"], gradients, ["a"], refused=["b"], missed=["bad"], said=said
    )
    assert made.nothing == {
        rollout("same").id: "the pages say already what it teaches",
        rollout("dull").id: "it is dull",
        rollout("mute").id: NO_LESSON,
    }
    assert made.waiting == {rollout("b").id: "its edit of b was refused: no"}
    assert [f.case for f in made.missed] == ["bad"]


def test_a_rollout_with_one_edit_that_stands_does_not_wait():
    made = outcome(["a"], [edit("a", "a"), edit("b", "a")], ["a"], refused=["b"])
    assert (made.waiting, made.nothing) == ({}, {})


def test_what_plan_and_result_say_is_joined():
    made = outcome([], [], [], refused=["b"])
    assert made.metadata == {"report": {"tried": 3}, "refused": {"b": "no", "z": "suspect"}, "a": 1, "b": 2}
