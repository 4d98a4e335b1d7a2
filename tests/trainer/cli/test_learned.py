from __future__ import annotations

from trainer.cli.learned import describe_learned
from trainer.domain import RolloutFailure
from trainer.train_report import TrainReport


def report(**fields) -> TrainReport:
    return TrainReport(
        **{"run_id": "r1", "branch": "train/r1", "dry_run": False, "rollouts": 2, "passed": 1, **fields}
    )


def test_nothing_learned_says_so_and_why():
    failed = RolloutFailure(rollout="b", case="", stage="analyze", error="odd")
    forgotten = failed.model_copy(update={"stage": "receive"})
    lines = list(describe_learned(report(nothing={"a": "one trial only"}, failures=(failed, forgotten))))
    assert lines == [
        "Nothing was learned.",
        "1 rollout taught nothing:",
        "     1  one trial only",
        "Failed:",
        "     1  analyze: odd",
    ]


def test_one_candidate_is_one():
    told = describe_learned(
        report(report={"candidates": 1, "dropped": {"decision": {"too little support": 1}}})
    )
    assert list(told)[-2:] == ["Left out of 1 candidate:", "     1  too little support"]


def test_what_is_learned_already_is_no_news():
    assert list(describe_learned(report(already=("a", "b")))) == ["Everything here is already learned."]


def test_what_a_model_could_not_merge_is_named_apart_from_what_was_not_merged_at_all():
    told = list(
        describe_learned(report(refused={"a": "odd"}, kept={"x": "a"}, fallbacks={"b": "refused: lost"}))
    )
    assert told[1:] == [
        "Not merged:",
        "     1  a: odd",
        "  (xp resolve x to decide)",
        "Merged by rule, not as the model said:",
        "     1  b: refused: lost",
    ]


def test_edits_of_a_model_that_do_not_stand_are_told():
    told = TrainReport(
        run_id="r",
        branch="b",
        dry_run=False,
        rollouts=2,
        passed=0,
        report={
            "case a": {"proposed": 2, "refused": ["it has markup", "it cites no trial"]},
            "case b": {"proposed": 1, "refused": ["it has markup"]},
        },
    )
    assert list(describe_learned(told)) == [
        "Nothing was learned.",
        "Edits refused:",
        "     2  it has markup",
        "     1  it cites no trial",
    ]
