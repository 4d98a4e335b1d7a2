"""What a submission is made of; how one goes wrong is in components/test_remote.py, over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.env_world import SNAPSHOT, word_case
from trainer.context import ExecutionContext
from trainer.remote.protocol import ExecuteRequest
from trainer.remote.rollout import RemoteError, Submission, _spread, deadline
from trainer.remote.values import case_id, sent_case

GOLDEN = Path(__file__).parents[1] / "golden" / "execute_request.json"


def submission(metadata=None):
    case = word_case(1)
    context = ExecutionContext(
        policy_snapshot_id=SNAPSHOT, seed=3, training=False, metadata=metadata or {"epoch": -1}
    )
    return Submission(case, sent_case(case, ()), {"root_uri": "experiences"}, context, {"turns": 5}, "key-1")


def test_a_submission_has_the_form_of_the_rfc():
    body = submission().body
    example = json.loads(GOLDEN.read_text("utf-8"))
    assert body.keys() == example.keys()
    assert body["execution_context"].keys() == example["execution_context"].keys()
    assert body["case"].keys() == example["case"].keys()
    assert body["options"] == {"turns": 5}
    assert ExecuteRequest.model_validate(body).case.name == "train-1"


def test_what_the_protocol_adds():
    assert submission({"epoch": 2, "seed": 9}).body["execution_context"]["metadata"] == {
        "epoch": 2,
        "seed": 3,
        "training": False,
        "case_id": case_id(word_case(1)),
        "idempotency_key": "key-1",
    }


def test_pauses_are_spread():
    assert len({_spread(1.0) for _ in range(20)}) > 1
    assert all(0.75 <= _spread(1.0) <= 1.25 for _ in range(20))


def test_a_deadline_says_of_what_there_is_no_result():
    async def work(seconds):
        async with deadline(seconds, "case 'a'"):
            await asyncio.Event().wait()

    with pytest.raises(RemoteError, match=r"no result of case 'a' within 0\.01 s"):
        asyncio.run(work(0.01))


def test_a_timeout_of_somebody_else_stays_one():
    async def work():
        async with deadline(60.0, "case 'a'"):
            raise TimeoutError("of another kind")

    with pytest.raises(TimeoutError, match="of another kind"):
        asyncio.run(work())
