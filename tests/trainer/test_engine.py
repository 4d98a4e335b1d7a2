from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import CaseEditor, FixedPolicy, NoteTaker, page, rollout
from trainer.asking.question import AskError
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_updater import DryRunPolicyUpdater
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import PipelineContext
from trainer.engine import PLAN_ATTEMPTS, PolicyTrainingEngine
from trainer.errors import ComponentError
from trainer.offline.merger import StatementMerger
from xpstore.experience import Experience, ExperienceSet
from xpstore.plan import PolicyApplyResult

CONTEXT = PipelineContext()


def engine(scope="batch", **parts):
    policy = parts.pop("policy", FixedPolicy())
    return PolicyTrainingEngine(
        analyzer=parts.get("analyzer", TrajectoryRolloutAnalyzer(NoteTaker())),
        estimator=ExperienceGradientEstimator(parts.get("editor", CaseEditor(scope))),
        optimizer=PatchMergePolicyOptimizer(StatementMerger()),
        updater=parts.get("updater", DryRunPolicyUpdater()),
        policy=policy,
    )


def analyses_of(*rollouts):
    done, failures = asyncio.run(engine().analyze(rollouts, CONTEXT))
    assert not failures
    return done


def test_one_rollout_that_cannot_be_analysed_is_data():
    good, broken = rollout("refund"), rollout("broken")
    done, failures = asyncio.run(engine().analyze([broken, good], CONTEXT))
    assert [a.rollout.id for a in done] == [good.id]
    assert [(f.rollout, f.stage) for f in failures] == [(broken.id, "analyze")]
    assert "cannot read this one" in failures[0].error


def test_what_can_be_done_about_a_failure_is_part_of_it():
    class Spent(NoteTaker):
        async def extract(self, *_):
            raise AskError("budget", "it is not enough", hint="raise it")

    _, (failure,) = asyncio.run(
        engine(analyzer=TrajectoryRolloutAnalyzer(Spent())).analyze([rollout("refund")], CONTEXT)
    )
    assert failure.error == "AskError: it is not enough (raise it)"


def test_analysis_is_parallel_and_bounded():
    class Counting(NoteTaker):
        running = most = 0

        async def extract(self, rollout, evaluation):
            self.running += 1
            self.most = max(self.most, self.running)
            for _ in range(5):
                await asyncio.sleep(0)
            self.running -= 1
            return await super().extract(rollout, evaluation)

    taker = Counting()
    part = engine(analyzer=TrajectoryRolloutAnalyzer(taker))
    asyncio.run(part.analyze([rollout("a", n) for n in range(20)], PipelineContext(parallel=3)))
    assert taker.most == 3


@pytest.mark.parametrize(
    ("scope", "sizes"),
    [("rollout", [1, 1, 1]), ("case", [2, 2]), ("batch", [4])],
)
def test_the_strategy_sees_the_groups_it_asks_for(scope, sizes):
    editor = CaseEditor(scope)
    fresh = analyses_of(rollout("a", 0), rollout("b", 0), rollout("b", 1))
    earlier = analyses_of(rollout("a", 9))
    part = engine(editor=editor)
    asyncio.run(part.estimate(fresh, earlier, ExperienceSet(root_uri=""), CONTEXT))
    assert sorted(len(g) for g in editor.groups) == sizes


def test_groups_do_not_depend_on_the_order_of_the_rollouts():
    first, second = CaseEditor(), CaseEditor()
    fresh = analyses_of(*(rollout("a", n) for n in range(6)))
    for editor, order in ((first, fresh), (second, fresh[::-1])):
        asyncio.run(engine(editor=editor).estimate(order, [], ExperienceSet(root_uri=""), CONTEXT))
    assert first.groups == second.groups


def test_a_group_that_fails_fails_its_fresh_members_only():
    fresh = analyses_of(rollout("a"), rollout("bad"))
    earlier = analyses_of(rollout("bad", 7))
    edits, failures = asyncio.run(
        engine("case").estimate(fresh, earlier, ExperienceSet(root_uri=""), CONTEXT)
    )
    assert [g.target_experience_name for g in edits.gradients] == ["a"]
    assert [f.case for f in failures] == ["bad"]
    assert failures[0].rollout == fresh[1].rollout.id


def test_a_plan_cites_the_rollouts_with_their_outcome():
    done = analyses_of(rollout("a"), rollout("a", 1, passed=False))
    part = engine()
    edits, _ = asyncio.run(part.estimate(done, [], ExperienceSet(root_uri=""), CONTEXT))
    planned = asyncio.run(part.plan_and_apply(edits.gradients, done, CONTEXT))
    assert sorted(r.passed for r in planned.plan.rollouts) == [False, True]
    assert planned.plan.learner == "double/1"
    assert planned.result.updated_policy_set.get("a").text == page("a", "Always a.")


def test_a_policy_that_moves_while_planning_is_planned_again():
    policy = FixedPolicy()
    mine = page("a", "Always a.")
    theirs = ExperienceSet(root_uri="", policies=(Experience(name="b", text=page("b", "B.")),))

    class MovesOnce(DryRunPolicyUpdater):
        moved = False

        async def apply(self, plan, policy_set, context):
            if not self.moved:
                self.moved = True
                policy.current = theirs
                return PolicyApplyResult(updated_policy_set=policy_set, errors=("moved",), conflict=True)
            return await super().apply(plan, policy_set, context)

    done = analyses_of(rollout("a"))
    part = engine(policy=policy, updater=MovesOnce())
    edits, _ = asyncio.run(part.estimate(done, [], ExperienceSet(root_uri=""), CONTEXT))
    planned = asyncio.run(part.plan_and_apply(edits.gradients, done, CONTEXT))
    assert {p.name for p in planned.result.updated_policy_set.policies} == {"a", "b"}
    assert planned.result.updated_policy_set.get("a").text == mine


def test_edits_that_cannot_be_merged_are_kept_as_they_were_proposed():
    class Keeps(DryRunPolicyUpdater):
        async def keep(self, plan, context):
            self.kept = plan
            return ("xp/conflict/12",)

    done = analyses_of(rollout("a"))
    updater = Keeps()
    opposite = Experience(name="a", text=page("a", "Never a."))
    part = engine(updater=updater, policy=FixedPolicy(ExperienceSet(root_uri="", policies=(opposite,))))
    edits, _ = asyncio.run(part.estimate(done, [], ExperienceSet(root_uri=""), CONTEXT))
    planned = asyncio.run(part.plan_and_apply(edits.gradients, done, CONTEXT))
    assert list(planned.plan.metadata["refused"]) == ["a"]
    assert planned.plan.metadata["kept"] == {"xp/conflict/12": "a"}
    (item,) = updater.kept.items
    assert (item.before_content, item.after_content) == (None, page("a", "Always a."))
    assert [r.id for r in updater.kept.rollouts] == [a.rollout.id for a in done]
    assert updater.kept.metadata == {}


def test_a_policy_that_never_stands_still_is_an_error_with_a_hint():
    class NeverStill(DryRunPolicyUpdater):
        tries = 0

        async def apply(self, plan, policy_set, context):
            self.tries += 1
            return PolicyApplyResult(updated_policy_set=policy_set, errors=("moved",), conflict=True)

        async def keep(self, plan, context):
            return ("xp/conflict/12",)

    updater = NeverStill()
    done = analyses_of(rollout("a"))
    part = engine(updater=updater)
    edits, _ = asyncio.run(part.estimate(done, [], ExperienceSet(root_uri=""), CONTEXT))
    with pytest.raises(ComponentError, match="moved") as caught:
        asyncio.run(part.plan_and_apply(edits.gradients, done, CONTEXT))
    assert "the plan is on xp/conflict/12: `xp resolve xp/conflict/12`" in caught.value.hint
    assert updater.tries == PLAN_ATTEMPTS
