from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import CaseEditor, FixedPolicy, NoteTaker, rollout
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_trainer import BatchPolicyTrainer, train_from_rollouts
from trainer.components.policy_updater import DryRunPolicyUpdater
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import PipelineContext
from trainer.domain import Case, RolloutAnalysis, Rubric, RubricEvaluation
from trainer.engine import PolicyTrainingEngine
from trainer.errors import RolloutError
from trainer.journal import NoJournal
from trainer.offline.merger import StatementMerger
from trainer.patch_merge import MergeOutcome, MergeRefusal
from xpstore.experience import ExperienceSet


def engine_of(scope, model=None, merger=None):
    return PolicyTrainingEngine(
        analyzer=TrajectoryRolloutAnalyzer(NoteTaker()),
        estimator=ExperienceGradientEstimator(CaseEditor(scope)),
        optimizer=PatchMergePolicyOptimizer(merger or StatementMerger()),
        updater=DryRunPolicyUpdater(),
        policy=FixedPolicy(),
        model=model,
    )


def trainer(scope="batch"):
    return BatchPolicyTrainer(engine_of(scope), NoJournal())


def train(*rollouts, scope="batch", **more):
    return asyncio.run(
        trainer(scope).train_rollouts(rollouts, ExperienceSet(root_uri=""), PipelineContext(), **more)
    )


def test_every_rollout_ends_somewhere():
    result = train(
        rollout("good"), rollout("broken"), rollout("bad"), rollout("silent"), rollout("empty"), scope="case"
    )
    learned = {r for g in result.gradients for r in g.rollouts}
    assert learned == {rollout("good").id, rollout("empty").id}
    assert {f.case: f.stage for f in result.failures} == {"broken": "analyze", "bad": "estimate"}
    assert result.nothing == {rollout("silent").id: "said nothing"}
    assert [p.name for p in result.updated_policy_set.policies] == ["empty", "good"]


def test_analyses_that_are_handed_in_are_not_made_again():
    broken = rollout("broken")  # analysing it would raise
    given = RolloutAnalysis(rollout=broken, evaluation=RubricEvaluation(passed=True, score=1.0))
    result = train(broken, rollout("a"), analyses=[given])
    assert not result.failures
    assert len(result.analyses) == 2


def test_the_order_of_the_rollouts_does_not_matter():
    some = [rollout(case, n) for case in ("a", "b") for n in range(3)]
    first, second = train(*some), train(*some[::-1])
    assert [p.plan_id for p in first.plans] == [p.plan_id for p in second.plans]
    assert first.updated_policy_set == second.updated_policy_set


def from_rollouts(*rollouts):
    return asyncio.run(
        train_from_rollouts(trainer(), rollouts, ExperienceSet(root_uri=""), PipelineContext())
    )


def test_a_rollout_without_a_case_is_an_error_that_names_it():
    nameless = rollout("a").model_copy(update={"case": Case(name="", rubric=Rubric(name="r"))})
    with pytest.raises(RolloutError, match=f"rollout 2 .{nameless.id}. has no case") as caught:
        from_rollouts(rollout("a"), nameless)
    assert caught.value.hint


def test_no_rollouts_no_plans():
    result = from_rollouts()
    assert result.plans == ()
    assert len(from_rollouts(rollout("a")).plans) == 1


class Behind:
    """The model behind the strategies: there, or cut off."""

    def __init__(self, why=""):
        self.why = why

    def as_json(self):
        return {"name": "m", "total": {"calls": 3}}

    async def cut_off(self):
        return self.why


class Ledger(NoJournal):
    """Remembers the reasons it was told."""

    def __init__(self):
        self.reasons = None

    async def nothing(self, reasons, learner):
        self.reasons = dict(reasons)


def train_with(behind, *rollouts):
    ledger = Ledger()
    parts = BatchPolicyTrainer(engine_of("case", behind), ledger)
    result = asyncio.run(parts.train_rollouts(rollouts, ExperienceSet(root_uri=""), PipelineContext()))
    return result, ledger.reasons


def test_the_record_of_a_plan_says_what_the_model_was_asked():
    result, _ = train_with(Behind(), rollout("a"), rollout("b"))
    assert len(result.plans) == 2
    assert all(plan.metadata["model"] == {"name": "m", "total": {"calls": 3}} for plan in result.plans)
    plain = train(rollout("a"), rollout("b"), scope="case")
    assert [plan.plan_id for plan in result.plans] == [plan.plan_id for plan in plain.plans]


def test_where_the_model_went_away_nothing_is_planned_and_every_rollout_stays_open():
    result, reasons = train_with(Behind("no answer from the host"), *map(rollout, ("a", "broken", "silent")))
    assert (result.plans, result.gradients, result.nothing, reasons) == ((), (), {}, None)
    assert {f.case: f.stage for f in result.failures} == {
        "a": "estimate",
        "broken": "analyze",
        "silent": "estimate",
    }
    assert "held back until the rest is answered: no answer from the host" in result.failures[1].error


class Knows:
    """A merger that finds what `known` teaches on another page already, and cannot merge `odd`."""

    async def merge(self, context):
        outcome = await StatementMerger().merge(context)
        return MergeOutcome(
            operations=tuple(op for op in outcome.operations if op.name not in {"known", "odd", "left"}),
            refused=tuple(
                MergeRefusal(name=p.target, reason="odd") for p in context.patches if p.target == "odd"
            ),
            idle={p.gradient: "left out: twice" for p in context.patches if p.target == "left"},
        )


def test_a_rollout_whose_edits_change_nothing_has_taught_nothing():
    engine = engine_of("batch", merger=Knows())
    some = [rollout(case) for case in ("known", "odd", "new", "left")]
    result = asyncio.run(
        BatchPolicyTrainer(engine, NoJournal()).train_rollouts(
            some, ExperienceSet(root_uri=""), PipelineContext()
        )
    )
    assert result.nothing == {
        rollout("known").id: "the pages say already what it teaches",
        rollout("left").id: "left out: twice",
        rollout("odd").id: "its edit of odd was refused: odd",
    }
    assert [i.target_experience_name for p in result.plans for i in p.items] == ["new"]
