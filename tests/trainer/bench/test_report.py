from __future__ import annotations

from trainer.bench.artifacts import Artifact
from trainer.bench.report import (
    BenchReport,
    bills_of,
    closing_lines,
    flips_of,
    lessons_at,
    pass_hats_of,
    stages_of,
)
from trainer.domain import Case, Rollout, Rubric
from trainer.report import CaseScore, EpochStage, EvaluationStage, LoopReport
from xpstore.evaluation import TrialFailure


def stage(name: str, commit: str, *cases: tuple[str, int, int], **more: object) -> EvaluationStage:
    by_case = tuple(CaseScore(name=n, passed=passed, n=of) for n, passed, of in cases)
    passed, of = sum(c.passed for c in by_case), sum(c.n for c in by_case)
    return EvaluationStage(
        stage=name,
        epoch=-1,
        cases=len(cases),
        n=of,
        passed=passed,
        accuracy=passed / of if of else None,
        interval=(0.0, 1.0),
        average_reward=None,
        by_case=by_case,
        commit=commit,
        suite="test",
        trials=2,
        key="k",
        **more,
    )


BEFORE = stage("baseline_eval", "c0", ("a", 0, 2), ("b", 2, 2), ("c", 1, 2), ("d", 0, 0))
AFTER = stage("final_eval", "c1", ("a", 2, 2), ("b", 1, 2), ("c", 1, 2), ("d", 2, 2))
EPOCH = EpochStage(
    stage="train_epoch",
    epoch=0,
    cases=1,
    n=1,
    passed=1,
    accuracy=1.0,
    interval=(0.0, 1.0),
    average_reward=1.0,
    commits=("c1",),
    errors=0,
    changed=True,
    taken_up=0,
    left=0,
    learned=None,
)
LOOP = LoopReport(
    run_id="ab",
    branch="train/ab",
    environment="tau2/airline",
    agent="x",
    baseline=BEFORE,
    epochs=(EPOCH,),
    final=AFTER,
    delta=0.25,
    stopped="",
)


def artifact(
    world: str, snapshot: str, seed: int = 2, *, training: bool = False, case: str = "a", **usage: object
) -> Artifact:
    rollout = Rollout(case=Case(name=case, rubric=Rubric(name="r")), metadata={"usage": usage})
    return Artifact(
        id="i", world=world, trial=0, seed=seed, snapshot=snapshot, training=training, rollout=rollout
    )


def test_cases_flip_by_their_share_and_without_a_score_there_is_none():
    flips = flips_of(BEFORE, AFTER)
    assert (flips.better, flips.worse, flips.same) == (("a",), ("b",), 1)
    assert flips_of(None, AFTER) == flips_of(BEFORE, None)


def test_bills_are_of_this_run_and_each_stage():
    used = {"calls": 2, "prompt_tokens": 100, "completion_tokens": 10, "cost": 0.5}
    kept = [
        artifact("w", "c0", agent=used, user={**used, "cost": None}),
        artifact("w", "c1", agent=used),
        artifact("w", "c1", agent=used),
        artifact("w", "c0", 7, training=True, agent=used),
        artifact("w", "c0", 9, training=True, agent=used),  # of another run
        artifact("w", "c7", agent=used),  # of another policy
        artifact("w", "c1", 4, agent=used),  # of another seed, or of more trials
        artifact("w", "c1", case="z", agent=used),  # of a case that is not measured
        artifact("other", "c0", agent=used),  # of another world
    ]
    bills = bills_of(LOOP, kept, "w", {2: None, 7: 0})
    assert list(bills) == ["baseline_eval", "train_epoch_0", "final_eval"]
    assert [bill.rollouts for bill in bills.values()] == [1, 1, 2]
    assert bills["baseline_eval"].total.model_dump() == {
        **used,
        "calls": 4,
        "prompt_tokens": 200,
        "completion_tokens": 20,
    }
    assert bills["final_eval"].models["agent"].cost == 1.0


def test_a_policy_that_did_not_change_is_billed_once():
    loop = LOOP.model_copy(update={"final": AFTER.model_copy(update={"commit": "c0"})})
    assert list(bills_of(loop, [artifact("w", "c0")], "w", {2: None})) == ["baseline_eval"]


def test_a_service_may_say_anything_of_its_use():
    wrong = {"calls": -1, "prompt_tokens": "many", "completion_tokens": True, "cost": float("inf")}
    bill = bills_of(LOOP, [artifact("w", "c0", agent=wrong, user="free", judge=None)], "w", {2: None})[
        "baseline_eval"
    ]
    assert bill.rollouts == 1
    assert (bill.total.prompt_tokens, bill.total.cost) == (0, 0.0)


def test_the_lines_below():
    report = BenchReport(
        benchmark="tau2",
        domain="airline",
        service={},
        loop=LOOP,
        floor=stage("floor_eval", "c0", ("a", 0, 1), ("b", 1, 1)),
        pass_hat=pass_hats_of(LOOP),
        flips=flips_of(BEFORE, AFTER),
        bills=bills_of(
            LOOP,
            [artifact("w", "c0", agent={"calls": 1, "prompt_tokens": 1_500, "cost": 0.25})],
            "w",
            {2: None},
        ),
        store="s",
        rollouts="r",
    )
    lines = list(closing_lines(report))
    assert lines[0] == "do-nothing floor: 50.00% (1/2)"
    assert "cases better: 1, worse: 1, the same: 1" in lines
    assert lines[-1] == "baseline_eval: 1 rollouts, 1 calls, 1,500 tokens sent, 0 written, cost 0.2500"
    assert report.exit_code == 0
    assert lessons_at(report) == "c1"
    same = report.loop.model_copy(update={"final": AFTER.model_copy(update={"commit": "c0"})})
    assert lessons_at(report.model_copy(update={"loop": same})) == ""
    assert list(stages_of(LOOP)) == ["baseline_eval", "train_epoch_0", "final_eval"]


def test_a_pass_rate_with_trials_that_were_not_scored_is_a_lower_bound():
    failure = TrialFailure(case="c", name="a", trial=0, seed=0, stage="execute", error="gone")
    loop = LOOP.model_copy(update={"baseline": BEFORE.model_copy(update={"failures": (failure,)})})
    report = BenchReport(
        benchmark="tau2",
        domain="a",
        service={},
        loop=loop,
        floor=None,
        pass_hat={"baseline_eval": {1: 0.5}, "final_eval": {1: 0.5}},
        flips=flips_of(None, None),
        bills={},
        store="s",
        rollouts="r",
    )
    lines = list(closing_lines(report))
    assert lines[:2] == ["baseline_eval pass^1>=50.00%", "final_eval pass^1=50.00%"]


def test_a_floor_that_is_not_whole_is_no_success():
    failure = TrialFailure(case="c", name="a", trial=0, seed=0, stage="execute", error="gone")
    floor = stage("floor_eval", "c0", ("a", 0, 1), failures=(failure,))
    report = BenchReport(
        benchmark="tau2",
        domain="a",
        service={},
        loop=LOOP,
        floor=floor,
        pass_hat={},
        flips=flips_of(None, None),
        bills={},
        store="s",
        rollouts="r",
    )
    assert report.exit_code == 1
