from __future__ import annotations

import asyncio

import pytest

from tests.env_world import POLICY, SNAPSHOT, Words, word_case
from trainer.env_kit.aside import Aside
from trainer.env_kit.cases import CaseBook
from trainer.env_kit.executions import Executions, Limits
from trainer.env_kit.intake import SETS, Intake
from trainer.env_kit.store import ExecutionStore
from trainer.remote.protocol import ExecuteRequest, PolicyJson, PolicySetJson
from trainer.remote.values import case_id, policy_set_json, sent_case
from trainer.web.problem import WebError
from xpstore.errors import NotFoundError, UsageError
from xpstore.experience import ExperienceSet

CASE = word_case(1)


def asked(policies=None, options=None, **metadata):
    context = {"policy_snapshot_id": SNAPSHOT, "metadata": metadata}
    sent = policies or policy_set_json(POLICY)
    case = sent_case(CASE, ())
    return ExecuteRequest(case=case, policy_set=sent, execution_context=context, options=options or {})


def take(*submissions, reader=None, key="", limits=Limits()):  # noqa: B008
    """Return the requests that reach the runtime."""
    runtime = Words()

    async def work():
        store, aside = ExecutionStore(None), Aside()
        async with Executions(runtime, store, limits, aside) as executions:
            intake = Intake(CaseBook(runtime, aside), executions, reader, aside)
            for each in submissions:
                await intake.take(each, key, "desk")
            tasks = [live.task for live in executions._live.values()]
            await asyncio.gather(*tasks)
        with aside:
            store.close()

    asyncio.run(work())
    return runtime.requests


def test_what_the_runtime_is_told():
    told = {"seed": 7, "training": True, "case_id": case_id(CASE), "idempotency_key": "k", "epoch": 3}
    (request,) = take(asked(options={"turns": 5}, **told))
    assert request.case == CASE
    assert [(p.name, p.text) for p in request.experiences.policies] == [
        (p.name, p.text) for p in POLICY.policies
    ]
    assert request.experiences.snapshot_id == request.snapshot_id == SNAPSHOT
    assert (request.seed, request.training, request.options) == (7, True, {"turns": 5})
    assert request.metadata == {"epoch": 3}


def test_what_a_client_of_others_does_not_say():
    (request,) = take(asked(seed="x", training="yes"))
    assert (request.seed, request.training, request.metadata) == (0, False, {})


def test_the_key_of_the_body_counts_as_that_of_the_header():
    assert len(take(asked(idempotency_key="k"), asked(idempotency_key="k"))) == 1
    assert len(take(asked(), asked(), key="k")) == 1
    assert len(take(asked(), asked())) == 2
    with pytest.raises(WebError, match="longer"):
        take(asked(idempotency_key="k" * 201))


def test_submissions_under_one_key_that_meet_are_one_rollout():
    runtime = Words()

    async def work():
        store, aside = ExecutionStore(None), Aside()
        async with Executions(runtime, store, Limits(), aside) as executions:
            intake = Intake(CaseBook(runtime, aside), executions, None, aside)
            found = await asyncio.gather(*(intake.take(asked(), "k", "desk") for _ in range(20)))
            assert len({each.execution_id for each in found}) == 1
            with pytest.raises(WebError, match="another rollout"):
                await intake.take(asked(options={"turns": 5}), "k", "desk")
            assert not intake._turns
        with aside:
            store.close()

    asyncio.run(work())
    assert len(runtime.requests) == 1


def test_all_rollouts_of_a_run_have_one_set():
    first, second = take(asked(seed=1), asked(seed=2))
    assert first.experiences is second.experiences


def test_not_many_sets_are_kept():
    def other(number):
        page = PolicyJson(name="a", content=f"- {number}.\n")
        return asked(PolicySetJson(policies=(page,)))

    requests = take(*map(other, range(SETS + 1)), other(0))
    assert requests[0].experiences is not requests[-1].experiences
    assert requests[0].experiences == requests[-1].experiences


def test_experiences_that_are_only_named_are_read():
    def reader(root_uri, snapshot_id):
        assert (root_uri, snapshot_id) == ("viking://x", SNAPSHOT)
        return POLICY

    (request,) = take(asked(PolicySetJson(root_uri="viking://x")), reader=reader)
    assert request.experiences is POLICY


def test_no_experience_is_one_thing_and_none_sent_another():
    (request,) = take(asked(PolicySetJson(metadata={"pinned": True})))
    assert request.experiences == ExperienceSet(root_uri="", snapshot_id=SNAPSHOT)
    with pytest.raises(WebError, match="no experiences in it"):
        take(asked(PolicySetJson(root_uri="viking://x")))


def test_what_cannot_be_read_is_told():
    def reader(*_):
        raise NotFoundError("there is no such commit")

    with pytest.raises(NotFoundError):
        take(asked(PolicySetJson(root_uri="viking://x")), reader=reader)
    with pytest.raises(UsageError):
        take(asked(PolicySetJson(policies=(PolicyJson(name="../x", content=""),))))


def test_a_full_queue_is_told_before_anything_is_read():
    def reader(*_):
        raise AssertionError("nobody has time for that")

    with pytest.raises(WebError, match="no more are taken"):
        take(
            asked(),
            asked(PolicySetJson(root_uri="viking://x")),
            reader=reader,
            limits=Limits(parallel=1, queue=0),
        )
