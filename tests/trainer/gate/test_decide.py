from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.gate.decide import CaseChange, decide, judge, least_cases, paired, pass_k
from xpstore.errors import UsageError
from xpstore.evaluation import EvaluationKey, EvaluationRecord, TrialFailure, TrialResult
from xpstore.settings import GatePolicy

POLICY = GatePolicy()


def changes_of(*rows: tuple[int, int], n: int = 1) -> list[CaseChange]:
    """Cases with so many of n trials passed, on either side."""
    return [
        CaseChange(case=f"c{i}", name=f"case {i}", n=n, baseline=old, candidate=new)
        for i, (old, new) in enumerate(rows)
    ]


def record_of(passed: dict[tuple[str, int], bool], failed: tuple[tuple[str, int], ...] = (), **key: object):
    trials = 1 + max(trial for _, trial in (*passed, *failed))
    values = {
        "experiences": "t",
        "suite": "gate",
        "suite_digest": "d",
        "trials": trials,
        "seeds": tuple(range(trials)),
        "agent": "clerk/1",
        **key,
    }
    return EvaluationRecord(
        key=EvaluationKey.model_validate(values),
        commit="c",
        results=tuple(
            TrialResult(case=case, name=case.upper(), trial=n, seed=n, passed=p, score=float(p))
            for (case, n), p in passed.items()
        ),
        failures=tuple(
            TrialFailure(case=case, name=case.upper(), trial=n, seed=n, stage="execute", error="down")
            for case, n in failed
        ),
    )


def test_one_case_of_ten_that_flips_decides_nothing_and_the_answer_is_always_the_same():
    changes = changes_of((0, 1), *[(1, 1)] * 5, *[(0, 0)] * 4)
    answers = {judge(changes, 1, POLICY) for _ in range(3)}
    assert len(answers) == 1
    (answer,) = answers
    assert (answer.decision, answer.progress, answer.figures is None) == ("inconclusive", False, False)
    assert "+10.0 points, 1 case better, 0 worse" in answer.reason


def test_what_changes_nothing_is_no_progress_and_ten_cases_do_not_prove_it_harmless():
    few = judge(changes_of(*[(1, 1)] * 5, *[(0, 0)] * 5), 1, POLICY)
    assert few.decision == "inconclusive"
    many = judge(changes_of(*[(2, 2)] * 50, n=4), 4, POLICY)
    assert (many.decision, many.progress) == ("accept", False)
    assert many.figures is not None
    assert -0.1 < many.figures.low < 0


@pytest.mark.parametrize(
    ("wins", "losses", "decision", "progress"),
    [(5, 0, "accept", True), (0, 5, "reject", False), (4, 0, "accept", False), (0, 4, "inconclusive", False)],
)
def test_five_discordant_cases_are_the_least_that_proves_anything(wins, losses, decision, progress):
    changes = changes_of(*[(0, 1)] * wins, *[(1, 0)] * losses, *[(1, 1)] * (60 - wins - losses))
    answer = judge(changes, 1, POLICY)
    assert (answer.decision, answer.progress) == (decision, progress)
    assert answer.figures is not None
    assert answer.figures.test == "McNemar, exact"


def test_a_gain_below_the_least_effect_is_not_called_progress():
    changes = changes_of(*[(0, 1)] * 6, *[(1, 1)] * 994)
    answer = judge(changes, 1, POLICY)
    assert answer.figures is not None
    assert answer.figures.p_better < POLICY.alpha
    assert (answer.decision, answer.progress) == ("accept", False)
    assert judge(changes, 1, GatePolicy(min_effect=0.005)).progress


def test_what_is_worse_is_rejected_however_little():
    changes = changes_of(*[(1, 0)] * 12, *[(0, 1)], *[(1, 1)] * 987)
    answer = judge(changes, 1, POLICY)
    assert answer.figures is not None
    assert answer.figures.low > -POLICY.margin
    assert answer.decision == "reject"
    assert "it is worse: -1.1 points" in answer.reason


def test_an_open_question_says_how_many_trials_would_decide_or_that_none_would():
    rows = [(2, 2), (1, 2), (3, 2), (2, 1), (2, 3)] * 2
    open_ = judge(changes_of(*rows, n=4), 4, POLICY)
    assert open_.decision == "inconclusive"
    assert open_.needed is not None
    assert open_.needed > 4
    assert f"about {open_.needed} trials of each case would decide" in open_.reason
    decided = judge(changes_of(*[(2, 2)] * 10, n=open_.needed), open_.needed, POLICY, look=2)
    assert decided.decision == "accept"
    hopeless = judge(changes_of(*[(4, 0), (0, 4), (4, 4)] * 3, n=4), 4, POLICY)
    assert (hopeless.decision, hopeless.needed) == ("inconclusive", None)
    assert "more cases may" in hopeless.reason


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_where_the_cases_are_too_few_to_reject_no_number_of_trials_is_promised(count):
    worst = judge(changes_of(*[(16, 0)] * count, n=16), 16, POLICY)
    if count == 6:
        assert worst.decision == "reject"
        return
    assert (worst.decision, worst.needed) == ("inconclusive", None)
    assert "would decide, 7 cases at least are needed" in worst.reason  # 2^-7 is below alpha / 4


def test_the_least_p_of_the_paired_test_says_how_many_cases_it_takes():
    assert [least_cases(alpha) for alpha in (0.0425, 1 / 32, 0.0425 / 4)] == [5, 5, 7]


def test_a_store_may_let_the_open_question_land_and_the_reason_says_so():
    answer = judge(changes_of((0, 1), (1, 1)), 1, GatePolicy(inconclusive="land"))
    assert answer.decision == "accept"
    assert "`[gate] inconclusive` lets it land" in answer.reason


def test_every_further_look_has_less_of_alpha():
    changes = changes_of(*[(0, 1)] * 5, *[(1, 1)] * 55)
    assert judge(changes, 1, POLICY).progress
    second = judge(changes, 1, POLICY, look=2)
    assert second.figures is not None
    assert second.figures.alpha == POLICY.alpha / 4
    assert not second.progress


def test_a_trial_that_one_side_could_not_score_is_in_neither_and_counted():
    whole = {(f"c{c}", n): c % 2 == 0 for c in range(20) for n in range(2)}
    cut = {key: passed for key, passed in whole.items() if key != ("c3", 1)}
    answer = decide(record_of(whole), record_of(cut, failed=(("c3", 1),)), POLICY)
    assert answer.figures is not None
    assert (answer.figures.pairs, answer.figures.unscored, answer.figures.cases) == (39, 1, 20)
    assert [c.n for c in answer.changes if c.case == "c3"] == [1]
    assert answer.decision == "accept"


def test_too_many_of_them_and_nothing_was_measured():
    whole = {(f"c{c}", n): True for c in range(20) for n in range(2)}
    lost = tuple(key for key in whole if key[0] in {"c1", "c2"})
    cut = {key: passed for key, passed in whole.items() if key not in lost}
    for one, other in ((record_of(whole), record_of(cut, lost)), (record_of(cut, lost), record_of(whole))):
        answer = decide(one, other, POLICY)
        assert (answer.decision, answer.figures) == ("inconclusive", None)
        assert answer.reason == "not measured: 4 of 40 trials could not be scored"
    nobody = decide(record_of({}, lost), record_of({}, lost), POLICY)
    assert (nobody.decision, nobody.figures) == ("inconclusive", None)


def test_other_trials_are_not_compared():
    one = record_of({("a", 0): True})
    for key, value in (("suite_digest", "e"), ("agent", "other"), ("seeds", (7,)), ("code", "x")):
        with pytest.raises(UsageError, match=f"differ in {key}"):
            decide(one, record_of({("a", 0): True}, **{key: value}), POLICY)


def test_the_same_trials_of_both_sides_are_pairs():
    one, other = record_of({("a", 0): True, ("a", 1): False}), record_of({("a", 1): True, ("b", 0): True})
    assert [(c.case, c.n, c.baseline, c.candidate) for c in paired(one, other)] == [("a", 1, 0, 1)]


@pytest.mark.parametrize(
    ("counts", "k", "expected"),
    [([(3, 4)], 1, 0.75), ([(3, 4)], 2, 0.5), ([(3, 4)], 4, 0.0), ([(4, 4), (2, 4)], 2, (1 + 1 / 6) / 2),
     ([(1, 1), (4, 4)], 2, 1.0), ([(1, 1)], 2, 0.0), ([], 1, 0.0)],
)  # fmt: skip
def test_pass_k_counts_the_subsets_that_passed(counts, k, expected):
    assert math.isclose(pass_k(counts, k), expected)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_swapped_sides_swap_the_answers(rows):
    there, back = (
        judge(changes_of(*rows, n=3), 3, POLICY),
        judge(changes_of(*((b, a) for a, b in rows), n=3), 3, POLICY),
    )
    one, other = there.figures, back.figures
    assert one is not None
    assert other is not None
    assert math.isclose(one.difference, -other.difference, abs_tol=1e-12)
    assert math.isclose(one.p_better, other.p_worse)
    assert math.isclose(one.low, -other.high, abs_tol=1e-12)
    assert (one.wins, one.losses) == (other.losses, other.wins)
    assert one.low <= one.difference <= one.high
    assert not (there.progress and back.progress)
