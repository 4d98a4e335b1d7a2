from __future__ import annotations

import pytest

from trainer.service.session_errors import InvalidRequestError
from trainer.service.session_rows import SessionRow, Task
from trainer.service.session_views import (
    KNOWN,
    checked_policy,
    commit_view,
    context_view,
    effective_types,
    iso,
    task_view,
)

ROW = SessionRow(1, "u", "s", 0.0, 1.5, {}, 1, 2, 30)


def test_times_are_iso():
    assert iso(1_795_966_063.25) == "2026-11-29T15:27:43.250Z"


def test_kinds_of_memory_that_nobody_knows_are_refused():
    checked_policy({"memory_types": sorted(KNOWN)})
    for policy in (None, {}, {"memory_types": None}, "x", 1):
        checked_policy(policy)
    with pytest.raises(InvalidRequestError, match=r"Unknown memory_policy\.memory_types: a, nope"):
        checked_policy({"memory_types": ["nope", "cases", "a"]})


def test_what_is_learned_is_what_a_session_wants_and_all_where_it_does_not_say():
    assert effective_types({}) == ["cases", "experiences", "trajectories"]
    assert effective_types({"memory_policy": {"memory_types": ["profile", "experiences"]}}) == ["experiences"]
    assert effective_types({"memory_policy": {"memory_types": []}}) == []


def test_a_commit_is_accepted_or_skipped():
    assert commit_view(ROW, 0, "t", "x")["reason"] == "no_messages"
    assert commit_view(ROW, 2, "t", "x")["archive_uri"] == "viking://user/u/sessions/s/history/archive_002"


def test_a_task_says_how_long_it_took_and_has_a_result_when_it_is_done():
    running = task_view(Task("t", "u", "s", 1, "running", 1.0, 2.0, 2.0, None, None, None))
    assert (running["result"], running["processing_seconds"], running["stage"]) == (None, 0.0, "running")
    pending = task_view(Task("t", "u", "s", 1, "pending", 1.0, 1.0, None, None, None, None))
    assert pending["processing_seconds"] is None
    done = task_view(Task("t", "u", "s", 1, "completed", 1.0, 5.5, 2.0, 5.5, {"plans": ["p"]}, None))
    assert done["processing_seconds"] == 3.5
    assert done["result"]["plans"] == ["p"]
    assert (
        done["result"]["memory_diff_uri"] == "viking://user/u/sessions/s/history/archive_001/memory_diff.json"
    )


def test_a_context_has_the_newest_that_fit():
    messages = [{"id": str(n), "parts": [{"type": "text", "text": "x" * 40}]} for n in range(5)]
    found = context_view(messages, 25)
    assert [m["id"] for m in found["messages"]] == ["3", "4"]
    assert found["estimatedTokens"] == 20
