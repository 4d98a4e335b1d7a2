from __future__ import annotations

import pytest

from tests.trainer.doubles import rollout
from trainer.context import ApplyContext
from trainer.domain import RolloutFailure, RolloutTrainingResult, RubricEvaluation
from trainer.evaluate import Measured
from trainer.report import LoopReport, delta_lines, delta_of, epoch_stage, evaluation_stage
from trainer.results import TrainEpochResult
from trainer.rollouts import failure_of, result_of
from trainer.trials import trials_of
from xpstore.evaluation import EvaluationKey, EvaluationRecord
from xpstore.experience import ExperienceSet
from xpstore.plan import PolicyApplyResult

TARGET = ApplyContext(run_id="r1", branch="train/r1")
KEY = EvaluationKey(experiences="e", suite="test", suite_digest="d", trials=1, seeds=(2,), agent="a/1")


def results(passed, n, trials=1):
    tried = trials_of([rollout(f"c{i:02}").case for i in range(n // trials)], trials, 1, training=False)
    return tuple(
        result_of(t, RubricEvaluation(passed=i < passed, score=float(i < passed)))
        for i, t in enumerate(tried)
    )


def failures(count=1, name="broken"):
    return tuple(
        failure_of(t, "execute", "no") for t in trials_of([rollout(name).case], count, 1, training=False)
    )


def evaluated(stage, epoch, passed, n, *, failed=0, reused=0, trials=1):
    record = EvaluationRecord(
        key=KEY, commit="c" * 40, results=results(passed, n, trials), failures=failures(failed)
    )
    return evaluation_stage(stage, epoch, Measured(record, reused, record.commit))


def epoch(passed, n, **fields):
    applied = PolicyApplyResult(updated_policy_set=ExperienceSet(root_uri=""), commits=("c",) * 50)
    training = RolloutTrainingResult(apply_result=applied, plans=())
    return TrainEpochResult(
        epoch=0,
        **{
            "changed": True,
            "rollouts": n,
            "results": results(passed, n),
            "training": (training,),
            **fields,
        },
    )


BASELINE = evaluated("baseline_eval", -1, 2, 10)
FINAL = evaluated("final_eval", 1, 3, 10)


def test_the_lines_are_those_of_the_rfc(monkeypatch):
    monkeypatch.setattr("trainer.report.train_report", lambda *_, **__: None)
    lines = [BASELINE.line, epoch_stage(epoch(9, 50), TARGET).line, FINAL.line]
    assert lines == [
        "[baseline_eval] epoch=-1 cases=10 accuracy=20.00% passed=2/10 avg_reward=0.200000",
        "[train_epoch] epoch=0 cases=50 accuracy=18.00% passed=9/50 avg_reward=0.180000 commits=50 errors=0",
        "[final_eval] epoch=1 cases=10 accuracy=30.00% passed=3/10 avg_reward=0.300000",
    ]
    assert delta_lines(BASELINE, FINAL) == [
        "baseline accuracy: 20.00% (2/10)",
        "final accuracy: 30.00% (3/10)",
        "accuracy delta: +10.00pp",
    ]


def test_the_interval_and_n_stand_in_the_line_after():
    assert BASELINE.remarks == ["95% interval 5.67% to 50.98%, n=10"]
    assert evaluated("final_eval", 1, 3, 10, reused=10).remarks[-1] == "reused"
    assert evaluated("final_eval", 1, 3, 10, reused=4).remarks[-1] == "4 scores reused"


def test_trials_count_and_failures_are_in_no_number():
    stage = evaluated("final_eval", 1, 3, 10, failed=2, trials=2)
    assert (stage.cases, stage.n, stage.passed) == (6, 10, 3)
    assert stage.remarks[1] == "2 trials could not be scored; the accuracy is of the others"
    assert [(c.name, c.passed, c.n, c.failures) for c in stage.by_case] == [
        ("c00", 1, 2, 0),
        ("c01", 1, 2, 0),
        ("c02", 1, 2, 0),
        ("c03", 0, 2, 0),
        ("c04", 0, 2, 0),
        ("broken", 0, 0, 2),
    ]


def test_without_scores_there_is_no_accuracy_and_no_difference():
    nothing = evaluated("final_eval", 1, 0, 0, failed=1)
    assert nothing.line == "[final_eval] epoch=1 cases=1 accuracy=n/a passed=0/0 avg_reward=n/a"
    assert nothing.remarks == ["1 trial could not be scored; the accuracy is of the others"]
    assert delta_of(BASELINE, nothing) is None
    assert delta_lines(BASELINE, nothing) == []
    assert delta_of(None, FINAL) is None


def test_an_epoch_says_what_was_taken_up_and_that_nothing_changed():
    stage = epoch_stage(epoch(1, 2, changed=False, taken_up=2, left=3, training=()), TARGET)
    assert stage.remarks[1:] == [
        "2 rollouts of this run were on record and were taken up",
        "3 on record and not studied: more than one run studies",
        "the policy did not change",
    ]
    assert (stage.learned, stage.left) == (None, 3)


BROKEN = epoch_stage(TrainEpochResult(epoch=0, failures=failures()), TARGET)
APPLIED = PolicyApplyResult(updated_policy_set=ExperienceSet(root_uri=""))
READ = RolloutTrainingResult(apply_result=APPLIED)
MISSED = tuple(RolloutFailure(rollout=r, case=r, stage="analyze", error="odd") for r in ("a", "b"))
UNREAD = RolloutTrainingResult(apply_result=APPLIED, failures=MISSED)
SOME = epoch_stage(epoch(1, 2, training=(READ,), failures=failures()), TARGET)


@pytest.mark.parametrize(
    ("stages", "code"),
    [
        ({}, 0),
        ({"baseline": BASELINE, "final": FINAL}, 0),
        ({"baseline": evaluated("baseline_eval", -1, 2, 10, failed=1), "final": FINAL}, 1),
        ({"final": evaluated("final_eval", 1, 0, 0)}, 1),
        ({"epochs": (SOME,)}, 0),
        ({"epochs": (SOME, BROKEN)}, 1),
        ({"epochs": (epoch_stage(epoch(1, 2, training=(UNREAD,)), TARGET),)}, 1),
        ({"epochs": (epoch_stage(epoch(1, 3, training=(UNREAD,)), TARGET),)}, 0),
    ],
)
def test_the_exit_code_says_whether_the_numbers_are_whole(stages, code):
    report = LoopReport(run_id="r1", branch="train/r1", environment="e", agent="a/1", **stages)
    assert report.exit_code == code
