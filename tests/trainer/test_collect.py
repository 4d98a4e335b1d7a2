from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import ScriptedExecutor, rollout
from trainer.collect import Collector
from trainer.domain import RolloutAnalysis, RolloutFailure, RolloutTrainingResult, RubricEvaluation
from trainer.journal import NoJournal
from trainer.rollouts import Conditions
from trainer.trials import stamp_of, stamped, trials_of
from xpstore.experience import ExperienceSet
from xpstore.plan import PolicyApplyResult

SNAPSHOT = "a" * 40
POLICY = ExperienceSet(root_uri="experiences", snapshot_id=SNAPSHOT)
CONDITIONS = Conditions(POLICY, SNAPSHOT, training=True, metadata={}, parallel=2, time_limit=5)


class Memory(NoJournal):
    """Keeps rollouts in a list."""

    def __init__(self, *kept):
        self.kept = list(kept)

    async def record(self, rollouts):
        self.kept += rollouts

    async def of_run(self, run_id):
        stamps = [(stamp_of(r), r.id) for r in self.kept]
        return {stamp.key: i for stamp, i in stamps if stamp and stamp.run == run_id}

    async def rollout(self, rollout_id):
        return next(r for r in self.kept if r.id == rollout_id)


def collect(journal, *names, count=1, run="run-1", executor=None):
    trials = trials_of([rollout(name).case for name in names], count, 1, training=True)

    async def work():
        collector = await Collector.resume(executor or ScriptedExecutor(), journal, run, None)
        return await collector.collect(trials, CONDITIONS, epoch=0)

    return asyncio.run(work())


def test_everything_is_recorded_before_it_counts():
    journal = Memory()
    collected = collect(journal, "a", "b", "crash", count=2)
    assert sorted(r.case.name for r in journal.kept) == ["a", "a", "b", "b"]
    assert {r.id for r in collected.share.rollouts} == {r.id for r in journal.kept} == set(collected.trials)
    assert [f.name for f in collected.failures] == ["crash", "crash"]


def test_what_the_run_recorded_before_is_taken_up():
    (trial,) = trials_of([rollout("a").case], 1, 1, training=True)
    journal = Memory(stamped(rollout("a"), trial, "run-1", 0), stamped(rollout("b"), trial, "run-2", 0))
    executor = ScriptedExecutor()
    collected = collect(journal, "a", "b", executor=executor)
    assert (collected.taken_up, len(collected.trials)) == (1, 2)
    assert [name for name, _ in executor.seen] == ["b"]


def test_without_a_run_nothing_is_stamped_nor_taken_up():
    journal = Memory()
    collected = [collect(journal, "a", run="") for _ in range(2)]
    assert [c.taken_up for c in collected] == [0, 0]
    assert [stamp_of(r) for r in journal.kept] == [None, None]


def test_the_analysis_scores_what_the_environment_did_not_and_the_rest_is_a_failure():
    collected = collect(Memory(), "a", "crash", "unscored", "unscored-too", "unscored-wild")
    mine, _, wild = sorted(
        (r for r in collected.share.rollouts if r.case.name != "a"), key=lambda r: r.case.name
    )
    endless = RolloutAnalysis(rollout=wild, evaluation=RubricEvaluation(passed=True, score=1e308))
    analysis = RolloutAnalysis(rollout=mine, evaluation=RubricEvaluation(passed=True, score=0.75))
    applied = PolicyApplyResult(updated_policy_set=POLICY)
    trained = RolloutTrainingResult(analyses=(analysis, endless), apply_result=applied, left=("x",))
    result = collected.result(3, trained)
    assert [(r.name, r.score) for r in result.results] == [("a", 0.0), ("unscored", 0.75)]
    assert [(f.name, f.stage, f.error) for f in result.failures] == [
        ("crash", "execute", "RuntimeError: the desk burnt down"),
        ("unscored-too", "evaluate", "no evaluation"),
        ("unscored-wild", "evaluate", "the score is 1e+308, not within 0 and 1"),
    ]
    assert (result.epoch, result.rollouts, result.left, result.training) == (3, 4, 1, (trained,))
    assert [r.name for r in collected.result(3, None).results] == ["a"]


def test_a_trial_that_nobody_scored_is_reported_once():
    collected = collect(Memory(), "a", "unscored")
    failed = [
        RolloutFailure(rollout=r.id, case=r.case.name, stage="analyze", error="no")
        for r in collected.share.rollouts
    ]
    other = RolloutFailure(rollout="00ff", case="", stage="receive", error="damaged")
    applied = PolicyApplyResult(updated_policy_set=POLICY)
    trained = RolloutTrainingResult(apply_result=applied, failures=(*failed, other))
    result = collected.result(0, trained)
    assert [f.name for f in result.failures] == ["unscored"]
    assert [f.case for f in result.training[0].failures] == ["a", ""]
    assert result.errors == 3


def test_a_journal_that_cannot_write_ends_it():
    class Full(Memory):
        async def record(self, rollouts):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        collect(Full(), "a", "b")


def test_what_looks_like_a_secret_in_a_stamp_is_kept(monkeypatch):
    monkeypatch.setattr("trainer.trials.seed_of", lambda *_, **__: 4111111111111111)  # a card's number
    journal = Memory()
    collect(journal, "a")
    assert collect(journal, "a").taken_up == 1
