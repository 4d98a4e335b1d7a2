from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.env_world import POLICY, SNAPSHOT, Words, said, word_case
from trainer.env_kit.aside import Aside
from trainer.env_kit.executions import Executions, Limits, Submitted
from trainer.env_kit.runtime import RolloutRequest
from trainer.env_kit.store import ExecutionStore
from trainer.errors import ComponentError
from trainer.remote.protocol import UNFINISHED, CaseJson
from trainer.web.problem import WebError
from xpstore.errors import RepositoryError

SECRET = "ghp_" + "a1B2" * 9


def request(number=0):
    return RolloutRequest(word_case(number), POLICY, SNAPSHOT, 7, True, {}, {"epoch": 0})


def submitted(key="", number=0, digest="d", caller="desk"):
    return Submitted(caller, key, digest, CaseJson.of(word_case(number)))


@asynccontextmanager
async def opened(runtime, store=None, **limits):
    own = store or ExecutionStore(None)
    with Aside() as aside:
        async with Executions(runtime, own, Limits(**limits), aside) as executions:
            yield executions
    if store is None:
        own.close()


async def ended(executions, execution):
    async with asyncio.timeout(30):
        while execution.status in UNFINISHED:
            live = executions._live.get(execution.execution_id)
            if live:
                await live.ended.wait()
            execution = await executions.get(execution.execution_id, "desk")
    return execution


def outcome(runtime, **limits):
    async def work():
        async with opened(runtime, **limits) as executions:
            return await ended(executions, executions.submit(request(), submitted()))

    return asyncio.run(work())


def test_a_rollout_is_run_and_kept():
    done = outcome(Words())
    assert (done.status, done.case_name, done.error) == ("completed", "train-0", None)
    assert done.rollout["policy_snapshot_id"] == SNAPSHOT
    assert done.created_at <= done.updated_at


def raising(error):
    def make(_):
        raise error

    return make


def made(**update):
    return lambda request: said(request).model_copy(update=update)


FAILURES = [
    (raising(ComponentError("the model is away")), "the model is away"),
    (raising(ValueError("of\nsome kind")), "ValueError: of some kind"),
    (raising(SystemExit(3)), "SystemExit: 3"),
    (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
    (raising(asyncio.CancelledError()), "the environment cancelled itself"),
    (raising(TimeoutError("of the model")), "TimeoutError: of the model"),
    (lambda _: None, "NoneType, which is no Rollout"),
    (made(case=word_case(1)), "a rollout of case 'train-1'"),
    (made(policy_snapshot_id="6" * 40), "under policy 666666"),
    (made(metadata={"reward": float("nan")}), "ValueError"),
    (raising(ValueError(f"bad key {SECRET}")), "bad key"),
    (raising(ValueError("x" * 100_000)), "xxx"),
]


@pytest.mark.parametrize(("make", "why"), FAILURES)
def test_what_goes_wrong_in_a_runtime_is_the_state_of_its_rollout(make, why):
    runtime = Words()
    runtime.make = make
    done = outcome(runtime)
    assert done.status == "failed"
    assert why in done.error
    assert SECRET not in done.error
    assert len(done.error) < 3_000
    assert done.rollout is None


def test_a_run_that_is_not_async_is_said_to_be_one(caplog):
    class Plain(Words):
        def run(self, request):
            return said(request)

    with caplog.at_level("INFO", "xpstore.trace.env"):
        assert "has to be an `async def`" in outcome(Plain()).error
    assert "executions.py:" in caplog.text


def test_a_snapshot_that_the_author_left_out_is_filled_in():
    runtime = Words()
    runtime.make = made(policy_snapshot_id="")
    assert outcome(runtime).rollout["policy_snapshot_id"] == SNAPSHOT


def test_a_time_limit():
    class Endless(Words):
        async def run(self, request):
            await asyncio.Event().wait()

    done = outcome(Endless(), time_limit=0.05)
    assert (done.status, done.error) == ("failed", "no result within 0.05 s")


def test_not_more_than_parallel_at_once():
    async def work():
        runtime = Words()
        runtime.hold = asyncio.Event()
        async with opened(runtime, parallel=3) as executions:
            begun = [executions.submit(request(n), submitted(number=n)) for n in range(8)]
            asyncio.get_running_loop().call_later(0.01, runtime.hold.set)
            done = [await ended(executions, each) for each in begun]
        return runtime.most_at_once, {each.status for each in done}

    assert asyncio.run(work()) == (3, {"completed"})


def test_a_full_queue():
    async def work():
        runtime = Words()
        runtime.hold = asyncio.Event()
        async with opened(runtime, parallel=1, queue=1) as executions:
            begun = [executions.submit(request(n), submitted(number=n)) for n in range(2)]
            with pytest.raises(WebError, match="no more are taken") as caught:
                executions.submit(request(2), submitted(number=2))
            runtime.hold.set()
            for each in begun:
                await ended(executions, each)
            assert executions.submit(request(3), submitted(number=3)).status == "running"
        return caught.value

    error = asyncio.run(work())
    assert error.status == 429
    assert int(error.headers["Retry-After"]) >= 1


def test_one_key_is_one_rollout():
    async def work():
        runtime = Words()
        store = ExecutionStore(None)
        async with opened(runtime, store) as executions:
            assert await executions.known(submitted("a")) is None
            first = executions.submit(request(), submitted("a"))
            assert (await executions.known(submitted("a"))).execution_id == first.execution_id
            with pytest.raises(WebError, match="another rollout"):
                await executions.known(submitted("a", digest="other"))
            assert await executions.known(submitted("a", caller="other")) is None
            done = await ended(executions, first)
            assert await executions.known(submitted("a")) == done
        async with opened(runtime, store) as executions:
            assert await executions.known(submitted("a")) == done, "also after a restart"
            with pytest.raises(WebError, match="another rollout"):
                await executions.known(submitted("a", digest="other"))
        store.close()
        return len(runtime.requests)

    assert asyncio.run(work()) == 1


def test_without_a_key_every_submission_is_another_one():
    async def work():
        async with opened(Words()) as executions:
            ids = {executions.submit(request(), submitted()).execution_id for _ in range(2)}
            assert await executions.known(submitted()) is None
        return len(ids)

    assert asyncio.run(work()) == 2


def test_a_caller_sees_its_own():
    async def work():
        async with opened(Words()) as executions:
            execution = executions.submit(request(), submitted())
            for ask in (executions.get, executions.cancel):
                with pytest.raises(WebError, match="no such execution"):
                    await ask(execution.execution_id, "other")
            assert (await ended(executions, execution)).status == "completed"

    asyncio.run(work())


def test_a_rollout_that_is_taken_back():
    async def work():
        runtime = Words()
        runtime.hold = asyncio.Event()
        async with opened(runtime, parallel=1) as executions:
            running, waiting = (executions.submit(request(n), submitted(number=n)) for n in range(2))
            await runtime.begun.wait()
            for each in (waiting, running):
                state = await executions.cancel(each.execution_id, "desk")
                assert state.status == "cancelled"
                assert await executions.get(each.execution_id, "desk") == state
        return runtime.cancelled, len(runtime.requests)

    assert asyncio.run(work()) == (1, 1)


def test_what_has_ended_cannot_be_taken_back():
    async def work():
        async with opened(Words()) as executions:
            done = await ended(executions, executions.submit(request(), submitted()))
            assert await executions.cancel(done.execution_id, "desk") == done

    asyncio.run(work())


def test_what_runs_when_the_service_ends_is_unknown_to_the_next_one():
    async def work():
        runtime, store = Words(), ExecutionStore(None)
        runtime.hold = asyncio.Event()
        async with opened(runtime, store) as executions:
            lost = executions.submit(request(), submitted("a"))
            await asyncio.sleep(0)
        runtime.hold = None
        async with opened(runtime, store) as executions:
            with pytest.raises(WebError, match="started anew") as caught:
                await executions.get(lost.execution_id, "desk")
            assert caught.value.status == 404
            assert await executions.known(submitted("a")) is None
            again = await ended(executions, executions.submit(request(), submitted("a")))
        store.close()
        return runtime.cancelled, again.status

    assert asyncio.run(work()) == (1, "completed")


def test_a_rollout_that_cannot_be_kept_has_failed(monkeypatch):
    def full(*_):
        raise RepositoryError("the disk is full")

    monkeypatch.setattr(ExecutionStore, "put", full)

    async def work():
        async with opened(Words()) as executions:
            execution = executions.submit(request(), submitted())
            return await ended(executions, execution)

    done = asyncio.run(work())
    assert done.status == "failed"
    assert "could not keep" in done.error
