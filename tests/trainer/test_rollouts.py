from __future__ import annotations

import asyncio
import re
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.contract import check_environment
from tests.trainer.doubles import ScriptedExecutor, make_environment, rollout
from trainer.domain import CriterionResult, RubricEvaluation
from trainer.rollouts import Conditions, failure_of, result_of, run_trials, score_trials
from trainer.trials import trials_of
from xpstore.experience import Experience, ExperienceSet

SNAPSHOT = "a" * 40
EMPTY = ExperienceSet(root_uri="experiences", snapshot_id=SNAPSHOT)
BAD = ["crash", "slow", "stray", "unscored", "two", "other", "quit"]


def conditions(**fields) -> Conditions:
    given = {
        "policy_set": EMPTY,
        "snapshot_id": SNAPSHOT,
        "training": False,
        "metadata": {"who": "me"},
        "parallel": 4,
        "time_limit": 0.5,
        **fields,
    }
    return Conditions(**given)


def run(executor, names, count=1, progress=None, **fields):
    told = conditions(**fields)
    trials = trials_of([rollout(name).case for name in names], count, 1, training=told.training)
    accepted = []

    async def accept(trial, got):
        accepted.append((trial.case.name, trial.number, got))

    failures = asyncio.run(run_trials(executor, trials, told, accept, progress))
    return accepted, failures


def test_the_scripted_environment_keeps_the_contract():
    cases = [rollout(name).case for name in ("refund", "cancel")]
    check_environment(make_environment({"luck": 0.5}), cases, EMPTY)


def test_every_trial_is_told_its_policy_seed_and_number():
    executor = ScriptedExecutor()
    accepted, failures = run(executor, ["a", "b"], count=2)
    assert failures == []
    assert {(name, number) for name, number, _ in accepted} == {("a", 0), ("b", 0), ("a", 1), ("b", 1)}
    seeds = {(name, told.metadata["trial"]): told.seed for name, told in executor.seen}
    assert seeds["a", 0] == seeds["b", 0] != seeds["a", 1]
    assert {told.policy_snapshot_id for _, told in executor.seen} == {SNAPSHOT}
    assert {(told.training, told.metadata["who"]) for _, told in executor.seen} == {(False, "me")}


def test_what_goes_wrong_belongs_to_its_case_and_the_rest_goes_on():
    executor = ScriptedExecutor()
    accepted, failures = run(executor, ["a", *BAD, "b"])
    assert sorted(name for name, _, _ in accepted) == ["a", "b"]
    assert [(f.name, f.stage) for f in failures] == [
        (name, "evaluate" if name == "unscored" else "execute") for name in BAD
    ]
    why = {f.name: f.error for f in failures}
    assert why["crash"] == "RuntimeError: the desk burnt down"
    assert why["slow"] == "no answer within 0.5 s"
    assert why["stray"] == f"the rollout ran under policy {'0' * 40}, not {SNAPSHOT}"
    assert why["unscored"] == "the rollout of case 'unscored' has no evaluation"
    assert why["two"] == "the executor returned 2 rollouts for one case"
    assert why["other"] == "the executor returned a rollout of case 'another'"
    assert why["quit"] == "the executor cancelled itself"
    assert sorted(executor.cancelled) == ["quit", "slow"]


def test_training_takes_a_rollout_that_nobody_scored():
    accepted, failures = run(ScriptedExecutor(), ["unscored"], training=True)
    assert [name for name, _, _ in accepted] == ["unscored"]
    assert failures == []


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("score", ["inf", "-inf", "nan", "1e308", "1.01", "-0.01"])
def test_a_score_that_is_not_within_0_and_1_is_no_score(score, training):
    wrong = RubricEvaluation(passed=True, score=float(score))
    part = CriterionResult(criterion_name="polite", passed=True, score=float(score))
    for evaluation, what in (
        (wrong, "the score"),
        (RubricEvaluation(passed=True, score=1, criterion_results=(part,)), "the score of 'polite'"),
    ):
        executor = Scored(evaluation)
        accepted, failures = run(executor, ["a"], training=training)
        why = f"case 'a': {what} is {float(score)}, not within 0 and 1"
        assert (accepted, [(f.stage, f.error) for f in failures]) == ([], [("evaluate", why)])


@pytest.mark.parametrize("score", [0, 0.5, 1])
def test_scores_from_0_to_1_count(score):
    part = CriterionResult(criterion_name="polite", passed=True, score=score)
    accepted, failures = run(
        Scored(RubricEvaluation(passed=True, score=score, criterion_results=(part,))), "a"
    )
    assert (accepted[0][2].evaluation.score, failures) == (score, [])


class Scored(ScriptedExecutor):
    """Gives every rollout one evaluation."""

    def __init__(self, evaluation):
        super().__init__()
        self._evaluation = evaluation

    async def execute(self, cases, policy_set, context):
        good = await super().execute(cases, policy_set, context)
        return [g.model_copy(update={"evaluation": self._evaluation}) for g in good]


class Noted(ScriptedExecutor):
    """Notes a value with the rollout of the case `a`."""

    def __init__(self, value):
        super().__init__()
        self._value = value

    async def execute(self, cases, policy_set, context):
        good = await super().execute(cases, policy_set, context)
        metadata = {"cost": self._value}
        return [g.model_copy(update={"metadata": metadata} if g.case.name == "a" else {}) for g in good]


@pytest.mark.parametrize("value", [float("nan"), [{"deep": float("-inf")}]])
def test_a_rollout_that_no_file_can_hold_is_its_own_failure(value):
    accepted, failures = run(Noted(value), ["a", "b"])
    assert [name for name, _, _ in accepted] == ["b"]
    assert [(f.name, f.stage) for f in failures] == [("a", "execute")]
    assert "that no JSON can carry" in failures[0].error


class Raising(ScriptedExecutor):
    """Raises on the case `a`."""

    def __init__(self, error):
        super().__init__()
        self._error = error

    async def execute(self, cases, policy_set, context):
        if cases[0].name == "a":
            raise self._error
        return await super().execute(cases, policy_set, context)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (SystemExit(0), "the executor raised SystemExit: 0"),
        (SystemExit("bye"), "the executor raised SystemExit: bye"),
        (GeneratorExit(), "the executor raised GeneratorExit:"),
        (asyncio.CancelledError(), "the executor cancelled itself"),
        (MemoryError("no room"), "MemoryError: no room"),
        (ValueError("half \udcff"), "ValueError: half \ufffd"),
    ],
)
def test_whatever_an_executor_raises_belongs_to_its_case(error, why):
    accepted, failures = run(Raising(error), ["a", "b"])
    assert [name for name, _, _ in accepted] == ["b"]
    assert [(f.name, f.stage, f.error) for f in failures] == [("a", "execute", why)]


def test_ctrl_c_in_an_executor_still_ends_the_run():
    with pytest.raises(KeyboardInterrupt):
        run(Raising(KeyboardInterrupt()), ["a", "b"])


def test_an_answer_that_comes_late_does_not_count():
    class Blocking(ScriptedExecutor):
        async def execute(self, cases, policy_set, context):
            done = await super().execute(cases, policy_set, context)
            end = monotonic() + 0.06 * (cases[0].name == "a")
            while monotonic() < end:  # never lets the loop look at its clock
                pass
            return done

    accepted, failures = run(Blocking(), ["a", "b"], parallel=1, time_limit=0.05)
    assert [name for name, _, _ in accepted] == ["b"]
    assert [f.stage for f in failures] == ["execute"]
    assert re.fullmatch(r"took 0\.\d+ s, the limit is 0\.05 s", failures[0].error)
    assert run(Blocking(), ["a"], time_limit=None)[1] == []


@pytest.mark.parametrize("parallel", [1, 3])
def test_so_many_at_once_and_no_more(parallel):
    executor = ScriptedExecutor()
    seen = []
    run(executor, "abcdefgh", parallel=parallel, progress=lambda *call: seen.append(call))
    assert executor.most == parallel
    assert seen == [("rollouts", n, 8) for n in range(1, 9)]


def test_a_store_that_says_no_ends_the_run():
    executor = ScriptedExecutor()
    trials = trials_of([rollout(name).case for name in ("a", "slow")], 1, 1, training=False)

    async def accept(*_):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        asyncio.run(run_trials(executor, trials, conditions(time_limit=None), accept))
    assert executor.cancelled == ["slow"]


def test_cancelling_the_run_cancels_the_agents():
    executor = ScriptedExecutor()
    trials = trials_of([rollout(f"slow-{i}").case for i in range(3)], 1, 1, training=False)

    async def accept(*_):
        raise AssertionError

    async def start_and_cancel():
        task = asyncio.create_task(run_trials(executor, trials, conditions(time_limit=None), accept))
        for _ in range(3):
            await executor.stuck.get()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(start_and_cancel())
    assert sorted(executor.cancelled) == ["slow-0", "slow-1", "slow-2"]


def test_a_page_in_the_policy_makes_the_scripted_agent_good():
    page = Experience(name="a", text="- Do it.\n")
    accepted, _ = run(
        ScriptedExecutor(), ["a", "b"], policy_set=EMPTY.model_copy(update={"policies": (page,)})
    )
    assert {name: got.evaluation.passed for name, _, got in accepted} == {"a": True, "b": False}


def test_scores_and_failures_name_the_trial():
    (trial,) = trials_of([rollout("a").case], 1, 1, training=False, first=3)
    result = result_of(trial, RubricEvaluation(passed=True, score=0.5))
    assert (result.case, result.name, result.trial, result.seed) == (trial.case.id, "a", 3, trial.seed)
    assert (result.passed, result.score) == (True, 0.5)
    failure = failure_of(trial, "execute", "no")
    long = failure_of(trial, "execute", "Traceback:\n  line 1\n" + "word " * 500).error
    assert long.startswith("Traceback: line 1 word")
    assert len(long) <= 500
    assert (failure.case, failure.trial, failure.stage, failure.error) == (trial.case.id, 3, "execute", "no")


KINDS = st.sampled_from(["good", "crash", "stray", "unscored", "two", "other", "quit"])


@settings(max_examples=25, deadline=None)
@given(st.lists(KINDS, max_size=8), st.integers(1, 4), st.integers(1, 3))
def test_every_trial_ends_once_in_its_order_however_many_run_at_once(kinds, parallel, count):
    cases = [rollout(f"{kind}-{number}").case for number, kind in enumerate(kinds)]
    trials = trials_of(cases, count, 3, training=False)
    told = conditions(parallel=parallel, time_limit=5)
    results, failures = asyncio.run(score_trials(ScriptedExecutor(luck=0.5), trials, told))
    ended = [(one.case, one.trial) for one in (*results, *failures)]
    assert sorted(ended) == sorted(trial.key for trial in trials)
    for some in (results, failures):
        keys = [(one.case, one.trial) for one in some]
        assert keys == [trial.key for trial in trials if trial.key in keys]
    assert all(result.name.startswith("good") for result in results)
    alone = asyncio.run(
        score_trials(ScriptedExecutor(luck=0.5), trials, conditions(parallel=1, time_limit=5))
    )
    assert (results, failures) == alone


def test_a_secret_in_an_error_is_masked_before_it_gets_anywhere():
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    _, (failure,) = run(Raising(RuntimeError(f"{'x ' * 230}401 for {token}")), ["a"])
    assert failure.error.startswith("RuntimeError: x x")
    assert token[:12] not in failure.error
