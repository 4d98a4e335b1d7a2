from __future__ import annotations

from tests.trainer.doubles import page, rollout
from trainer.components.streaming_result import joined, part_of, without_update
from trainer.domain import EditResult, RolloutAnalysis, RolloutFailure, RubricEvaluation
from trainer.engine import Planned
from trainer.outcome import Outcome
from xpstore.experience import ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.plan import PolicyApplyResult, PolicyPlanItem, PolicyUpdatePlan, RolloutRef

LATEST = ExperienceSet(root_uri="latest")


def analysed(case):
    return RolloutAnalysis(rollout=rollout(case), evaluation=RubricEvaluation(passed=True, score=1.0))


def outcome(commit, *cases, nothing=(), missed=(), gone=()):
    """Return an update that taught a page for each case and deleted pages."""
    gradients = [
        PatchSemanticGradient(
            before_file=None,
            after_file=MemoryFile(name=case, content=page(case, commit)),
            rationale="it worked",
            rollouts=(rollout(case).id,),
            confidence=0.5,
        )
        for case in cases
    ]
    plans = [
        PolicyUpdatePlan(
            items=(
                PolicyPlanItem(
                    kind="upsert_experience",
                    target_experience_name=case,
                    before_content=None,
                    after_content=page(case, commit),
                ),
            ),
            gradients=(gradient,),
            rollouts=(RolloutRef(id=rollout(case).id),),
        )
        for case, gradient in zip(cases, gradients, strict=True)
    ]
    result = PolicyApplyResult(
        updated_policy_set=ExperienceSet(root_uri=commit),
        commits=tuple(f"{commit}-{case}" for case in cases),
        plans=tuple(plans),
        written_uris=tuple(cases),
        deleted_uris=tuple(gone),
    )
    failures = tuple(
        RolloutFailure(rollout=rollout(c).id, case=c, stage="estimate", error="x") for c in missed
    )
    said = {rollout(c).id: "dull" for c in nothing}
    edits = EditResult(gradients=tuple(gradients), report={"round": commit})
    return Outcome(edits, failures, Planned(PolicyUpdatePlan(), result), said)


def test_a_part_has_what_cites_the_rollout_and_all_that_was_applied():
    outcomes = [outcome("1", "a", "b", gone=["old"], missed=["c"]), outcome("2", "a")]
    part = part_of(analysed("a"), outcomes, {}, ())
    assert [p.plan_id for p in part.plans] == [
        outcomes[0].planned.result.plans[0].plan_id,
        outcomes[1].planned.result.plans[0].plan_id,
    ]
    assert len(part.gradients) == 2
    assert part.apply_result.commits == ("1-a", "1-b", "2-a")
    assert part.apply_result.written_uris == ("a", "b")
    assert part.apply_result.deleted_uris == ("old",)
    assert part.updated_policy_set.root_uri == "2"
    assert part.failures == ()
    assert part.metadata == {"report": {"round": "2"}}


def test_a_part_says_why_it_taught_nothing_and_what_could_not_be_read():
    damaged = RolloutFailure(rollout="ffff", case="", stage="recall", error="damaged")
    outcomes = [outcome("1", "a", missed=["c"])]
    nothing = {rollout("b").id: "dull", rollout("d").id: "dull too"}
    b, c = (part_of(analysed(name), outcomes, nothing, [damaged]) for name in "bc")
    assert (b.plans, b.nothing, b.failures) == ((), {rollout("b").id: "dull"}, (damaged,))
    assert ([f.case for f in c.failures], c.nothing) == (["", "c"], {})


def test_results_are_joined_and_what_they_share_is_there_once():
    update = outcome("1", "a", "b")
    parts = [part_of(analysed(name), [update], {}, ()) for name in "ab"]
    aside = without_update(LATEST, nothing={"n": "dull"}, already=("x",), analyses=(analysed("n"),))
    one = joined([*parts, aside], LATEST)
    assert [a.rollout.case.name for a in one.analyses] == ["a", "b", "n"]
    assert one.apply_result.commits == ("1-a", "1-b")
    assert one.plans == update.planned.result.plans
    assert len(one.gradients) == 2
    assert (one.nothing, one.already, one.updated_policy_set) == ({"n": "dull"}, ("x",), LATEST)
    assert one.metadata == {"report": {"round": "1"}}


def test_no_results_are_joined_to_nothing():
    assert joined([], LATEST).plans == ()
