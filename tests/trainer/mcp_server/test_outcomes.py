from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from trainer.mcp_server.arguments import Report
from trainer.mcp_server.outcomes import MOST_BYTES, Outcomes, size_checked
from trainer.recall import read_rollout
from xpstore import evidence
from xpstore.errors import UsageError
from xpstore.inbox import entries

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

FIRST, SECOND = "a" * 40, "b" * 40


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def test_a_report_is_a_rollout_in_the_inbox_with_what_was_read(loc):
    outcomes = Outcomes()
    outcomes.note_read("refund", FIRST)
    outcomes.note_read("退票", SECOND)
    done = outcomes.report(loc, Report(task="Refund it", case="refund-7", outcome="passed"), FIRST)
    assert (done.snapshot, done.read) == (SECOND, ("refund", "退票"))
    (entry,) = entries(loc)
    assert (entry.rollout, entry.progress, entry.holder) == (done.rollout, "received", "")
    rollout = read_rollout(loc, done.rollout)
    assert rollout.case.name == "refund-7"
    assert (rollout.policy_snapshot_id, rollout.evaluation.passed) == (SECOND, True)
    assert rollout.messages[0].text == "Refund it"
    (used,) = (e for e in evidence.ledger(loc, done.rollout) if e["event"] == "used")
    assert used == {"event": "used", "experiences": ["refund", "退票"], "snapshot": SECOND, "passed": True}


def test_what_was_read_counts_for_one_report(loc):
    outcomes = Outcomes()
    outcomes.note_read("refund", SECOND)
    outcomes.report(loc, Report(task="x", score=0.5), FIRST)
    second = outcomes.report(loc, Report(task="x", score=0.5), FIRST)
    assert (second.snapshot, second.read) == (FIRST, ())
    third = outcomes.report(loc, Report(task="x", score=1, experiences=("exchange", "no name")), FIRST)
    assert third.read == ("exchange", "no name")
    events = [e for _ in (0,) for e in evidence.ledger(loc, third.rollout) if e["event"] == "used"]
    assert events[0]["experiences"] == ["exchange"]
    assert len(entries(loc)) == 3  # two that say the same are two attempts


@pytest.mark.parametrize(
    ("given", "passed", "score"),
    [
        ({"outcome": "failed"}, False, 0),
        ({"outcome": "passed", "score": 0.7}, True, 0.7),
        ({"score": 1}, True, 1),
        ({"score": 0.99}, False, 0.99),
    ],
)
def test_outcomes_and_scores(loc, given, passed, score):
    done = Outcomes().report(loc, Report(task="x", feedback="because", **given), FIRST)
    evaluation = read_rollout(loc, done.rollout).evaluation
    assert (evaluation.passed, evaluation.score) == (passed, score)
    assert evaluation.feedback == ("because",)


@pytest.mark.parametrize(
    "report",
    [
        Report(task="x"),
        Report(task=" \n", outcome="passed"),
        Report(task="x", outcome="passed", messages=({"content": "no role"},)),
        Report(task="x", outcome="passed", messages=({"role": "assistant", "tool_calls": [{}]},)),
    ],
)
def test_what_is_no_report_leaves_nothing(loc, report):
    before = git(loc.repo.place, "for-each-ref")
    outcomes = Outcomes()
    outcomes.note_read("refund", FIRST)
    with pytest.raises(UsageError):
        outcomes.report(loc, report, SECOND)
    assert git(loc.repo.place, "for-each-ref") == before
    assert outcomes.report(loc, Report(task="x", score=1), SECOND).read == ("refund",)


def test_secrets_and_personal_data_are_masked(loc):
    said = {
        "role": "user",
        "content": "Mail pat@example.org; key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789",
    }
    report = Report(
        task="Call +1 415 555 0199", outcome="failed", feedback="pat@example.org", messages=(said,)
    )
    done = Outcomes().report(loc, report, FIRST)
    kept = json.dumps(read_rollout(loc, done.rollout).model_dump(mode="json"))
    assert not any(secret in kept for secret in ("pat@example", "sk-proj-abc", "555 0199"))


def test_what_no_file_can_hold_is_refused_or_mended():
    deep: dict[str, object] = {}
    for _ in range(500):
        deep = {"a": deep}
    for bad in ({"x": float("inf")}, deep):
        with pytest.raises(UsageError, match="cannot be kept"):
            size_checked(bad)
    many = [{"role": "user", "content": "x" * 60_000}] * (MOST_BYTES // 60_000 + 1)
    with pytest.raises(UsageError, match="at most"):
        size_checked({"messages": many})
    assert size_checked({"task": "a\ud800b"}) == {"task": "a\ufffdb"}
