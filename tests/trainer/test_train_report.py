from __future__ import annotations

import pytest

from trainer.train_report import TrainReport


def failure(rollout, stage):
    return {"rollout": rollout, "case": "c", "stage": stage, "error": "x"}


@pytest.mark.parametrize(
    ("rollouts", "already", "failures", "code"),
    [
        (2, (), [], 0),
        (2, (), [failure("a", "analyze")], 0),
        (2, (), [failure("a", "analyze"), failure("b", "estimate")], 1),
        (2, ("a",), [failure("b", "analyze")], 1),
        (2, ("a",), [failure("b", "receive")], 0),
        (1, (), [failure("a", "receive")], 1),
        (1, (), [failure("earlier", "recall")], 0),
        (2, (), [failure("a", "analyze"), failure("earlier", "recall")], 0),
    ],
)
def test_the_exit_code_is_one_when_nothing_could_be_used(rollouts, already, failures, code):
    report = TrainReport.model_validate(
        {
            "run_id": "r",
            "branch": "b",
            "dry_run": False,
            "rollouts": rollouts,
            "passed": 0,
            "already": already,
            "failures": failures,
        }
    )
    assert report.exit_code == code
