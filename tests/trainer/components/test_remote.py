"""A service that does everything wrong, over real HTTP: each fault has its own kind of error."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from tests.env_world import GOLD, POLICY, SNAPSHOT, completed, execution, word_case
from tests.json_server import Answer, json_server
from trainer.components.remote import RemoteCaseLoader, RemoteRolloutExecutor
from trainer.context import CaseLoadContext, ExecutionContext, PipelineContext
from trainer.errors import ComponentError
from trainer.remote import client as http_client
from trainer.remote import rollout as remote_rollout
from trainer.remote.client import HttpError, JsonClient
from trainer.remote.protocol import EXECUTE, EXECUTIONS, HEALTH, QUERY, CaseJson, CasesQuery, Health
from trainer.remote.rollout import RemoteError
from trainer.rollouts import Conditions, run_trials
from trainer.trials import trials_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.json_server import JsonServer

KEY = "xp_a-key-that-nobody-may-see"
ONE = f"{EXECUTIONS}/rollout_exec_1"
CONTEXT = ExecutionContext(policy_snapshot_id=SNAPSHOT, seed=7, training=True, metadata={"epoch": 0})
CASE = word_case(0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonServer]:
    monkeypatch.setattr(http_client, "_backoff", lambda _: 0.0)
    monkeypatch.setattr(remote_rollout, "FIRST_POLL", 0.0)
    monkeypatch.setattr(remote_rollout, "BUSY_PAUSE", 0.0)
    with json_server() as server:
        server.on("GET", HEALTH, {"status": "ok", "name": "words", "version": "1"})
        server.on("POST", EXECUTE, execution())
        server.on("GET", ONE, completed())
        server.on("DELETE", ONE, execution("cancelled"))
        yield server


def connect(server, **options):
    return lambda: JsonClient(server.url, **{"key": KEY, "retries": 2, **options})


def execute(server, *cases, context=CONTEXT, policies=POLICY, client=None, **options):
    executor = RemoteRolloutExecutor(connect(server, **client or {}), **options)
    return asyncio.run(executor.execute(cases or [CASE], policies, context))


def body(server):
    return next(seen.body for seen in server.requests if seen.path == EXECUTE)


def test_a_rollout_comes_back_with_the_case_as_it_is_here(server):
    (rollout,) = execute(server, options={"max_iterations": 30})
    assert rollout.case == CASE
    assert rollout.policy_snapshot_id == SNAPSHOT
    assert rollout.evaluation.passed
    sent = body(server)
    assert sent["options"] == {"max_iterations": 30}
    assert sent["execution_context"]["policy_snapshot_id"] == SNAPSHOT
    told = sent["execution_context"]["metadata"]
    assert {**told, "epoch": 0, "seed": 7, "training": True} == told
    assert [p["name"] for p in sent["policy_set"]["policies"]] == ["manners"]
    assert sent.keys() == {"case", "policy_set", "execution_context", "options"}


def test_no_label_and_no_key_in_any_body(server):
    server.on("GET", HEALTH, {"status": "ok", "case_input": ["ground_truth", "user_query"]})
    execute(server)
    assert body(server)["case"]["input"] == {"user_query": "say word 0"}
    for seen in server.requests:
        assert GOLD.encode() not in seen.raw
        assert KEY.encode() not in seen.raw
        assert seen.headers["authorization"] == f"Bearer {KEY}"


def test_a_field_that_is_named_is_sent(server):
    execute(server, case_input=["ground_truth"])
    assert body(server)["case"]["input"] == {"ground_truth": GOLD}


def test_a_service_without_health_is_asked_for_rollouts_all_the_same(server):
    server.on("GET", HEALTH, Answer(404))
    assert execute(server)


def test_a_service_that_reads_the_experiences_itself(server):
    execute(server, pinned=False, root_uri="viking://user/default/memories/experiences")
    assert body(server)["policy_set"] == {
        "root_uri": "viking://user/default/memories/experiences",
        "policies": [],
        "metadata": {},
    }


FAULTS = [  # what the service does → kind of error; method, path, answers
    ("refused", "POST", EXECUTE, [Answer(400, {"error": {"message": "no such case"}})]),
    ("failed", "POST", EXECUTE, [Answer(500)]),
    ("unreachable", "POST", EXECUTE, ["reset"]),
    ("wrong answer", "POST", EXECUTE, [Answer(200, b"<html>")]),
    ("wrong answer", "POST", EXECUTE, [{"status": "running"}]),
    ("wrong answer", "POST", EXECUTE, [execution("perhaps")]),
    ("other case", "POST", EXECUTE, [execution(case="train-1")]),
    ("timeout", "GET", ONE, ["slow"]),
    ("unreachable", "GET", ONE, ["truncated"]),
    ("lost", "GET", ONE, [Answer(404)]),
    ("failed", "GET", ONE, [Answer(502)]),
    ("failed", "GET", ONE, [execution("failed", error="the disk is full")]),
    ("failed", "GET", ONE, [execution("failed")]),
    ("cancelled", "GET", ONE, [execution("cancelled")]),
    ("wrong answer", "GET", ONE, [execution("completed")]),
    ("wrong answer", "GET", ONE, [execution("completed", rollout={"case": {"name": "train-0"}})]),
    ("wrong answer", "GET", ONE, [execution("completed", rollout=[])]),
    ("wrong answer", "GET", ONE, [completed(evaluation={"passed": True})]),
    ("wrong answer", "GET", ONE, [{**completed(), "execution_id": "rollout_exec_2"}]),
    ("other case", "GET", ONE, [{**completed("train-1"), "case_name": "train-0"}]),
    ("other case", "GET", ONE, [execution(case="train-1")]),
    ("other snapshot", "GET", ONE, [completed(snapshot="6" * 40)]),
    ("other snapshot", "GET", ONE, [completed(snapshot="")]),
    ("deadline", "GET", ONE, [execution()]),
]


@pytest.mark.parametrize(("kind", "method", "path", "answers"), FAULTS)
def test_each_fault_has_its_kind(server, kind, method, path, answers):
    server.on(method, path, *answers)
    limit = 0.1 if kind == "deadline" else None
    with pytest.raises((HttpError, RemoteError)) as caught:
        execute(server, client={"timeout": 0.1 if kind == "timeout" else 30}, time_limit=limit)
    error = caught.value
    assert (error.kind if isinstance(error, HttpError) else error.fault) == kind
    assert KEY not in error.message


def test_why_a_rollout_failed_is_told(server):
    server.on("GET", ONE, execution("failed", error="the disk is full"))
    with pytest.raises(RemoteError, match="could not run case 'train-0': the disk is full"):
        execute(server)


def test_a_failed_rollout_is_data(server):
    server.on("GET", ONE, execution("failed", error=f"bad key {KEY}"))
    executor = RemoteRolloutExecutor(connect(server))
    trials = trials_of([CASE], 2, 1, training=False)
    conditions = Conditions(POLICY, SNAPSHOT, False, {}, 2, 30.0)
    failures = asyncio.run(run_trials(executor, trials, conditions, None))
    assert [failure.stage for failure in failures] == ["execute", "execute"]
    assert "bad key <key>" in failures[0].error


def keys(server):
    sent = [seen for seen in server.requests if seen.path == EXECUTE]
    found = {seen.headers["idempotency-key"] for seen in sent}
    assert found == {seen.body["execution_context"]["metadata"]["idempotency_key"] for seen in sent}
    return len(sent), len(found)


def test_an_answer_that_was_lost_is_asked_for_under_the_same_key(server):
    server.on("POST", EXECUTE, "reset", Answer(503), execution())
    assert execute(server)
    assert keys(server) == (3, 1)


def test_what_a_restart_has_lost_is_submitted_once_more_under_the_same_key(server):
    server.on("GET", ONE, execution(), Answer(404), completed())
    assert execute(server)
    assert keys(server) == (2, 1)


def test_what_was_lost_twice_is_an_error(server):
    server.on("GET", ONE, Answer(404), execution(), Answer(404))
    with pytest.raises(RemoteError, match="twice"):
        execute(server)
    assert keys(server) == (2, 1)


def test_a_submission_that_was_finished_already(server):
    server.on("POST", EXECUTE, completed())
    assert execute(server)
    assert ONE not in server.paths()


def test_every_rollout_has_a_key_of_its_own(server):
    server.on("POST", EXECUTE, lambda seen: execution(case=seen.body["case"]["name"], execution_id="a"))
    server.on("GET", f"{EXECUTIONS}/a", completed(name="a"))
    assert len(execute(server, CASE, CASE)) == 2
    assert keys(server) == (2, 2)


def test_a_full_service_is_asked_again_until_the_deadline(server):
    server.on("POST", EXECUTE, *[Answer(429, None, {"Retry-After": "0"})] * 10, execution())
    assert execute(server)
    assert keys(server) == (11, 1)
    server.on("POST", EXECUTE, Answer(429))
    with pytest.raises(RemoteError, match=r"no result of case 'train-0' within 0\.1 s"):
        execute(server, time_limit=0.1)


def test_a_full_service_that_asks_for_an_hour_is_left_alone(server):
    server.on("POST", EXECUTE, Answer(429, None, {"Retry-After": "3600"}))
    with pytest.raises(HttpError, match="429"):
        execute(server)


@pytest.mark.parametrize("limits", [{"time_limit": 0.1}, {"total_limit": 0.1}])
def test_whoever_gives_up_takes_the_rollout_back(server, limits):
    server.on("GET", ONE, execution())
    with pytest.raises(RemoteError) as caught:
        execute(server, **limits)
    assert caught.value.fault == "deadline"
    assert server.paths("DELETE") == [ONE]


def test_whoever_is_interrupted_takes_the_rollout_back(server):
    asked = threading.Event()
    server.on("GET", ONE, lambda _: asked.set() or "slow")

    async def work():
        executor = RemoteRolloutExecutor(connect(server))
        task = asyncio.create_task(executor.execute([CASE], POLICY, CONTEXT))
        assert await asyncio.to_thread(asked.wait, 30)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())
    assert server.paths("DELETE") == [ONE]


def test_whoever_is_interrupted_while_it_submits_takes_back_what_comes_of_it(server):
    asked, is_cancelled = threading.Event(), threading.Event()
    server.on("POST", EXECUTE, lambda _: asked.set() or (is_cancelled.wait(30) and execution()))

    async def work():
        executor = RemoteRolloutExecutor(connect(server))
        task = asyncio.create_task(executor.execute([CASE], POLICY, CONTEXT))
        assert await asyncio.to_thread(asked.wait, 30)
        task.cancel()
        asyncio.get_running_loop().call_soon(is_cancelled.set)
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())
    assert server.paths("DELETE") == [ONE]


def test_what_is_taken_back_is_the_rollout_that_was_submitted_last(server):
    second = f"{EXECUTIONS}/second"
    server.on("POST", EXECUTE, execution(), execution(execution_id="second"))
    server.on("GET", ONE, Answer(404))
    server.on("GET", second, execution(execution_id="second"))
    with pytest.raises(RemoteError, match="no result"):
        execute(server, time_limit=0.3)
    assert server.paths("DELETE") == [second]


@pytest.mark.parametrize("answer", [Answer(400), [1], execution(execution_id="another"), b"{"])
def test_what_cannot_be_followed_is_taken_back(server, answer):
    server.on("GET", ONE, Answer(body=answer) if isinstance(answer, bytes) else answer)
    with pytest.raises((HttpError, RemoteError)):
        execute(server)
    assert server.paths("DELETE") == [ONE]


def test_of_several_cases_all_are_tried(server):
    server.on("POST", EXECUTE, lambda seen: _by_name(seen.body["case"]["name"]))
    for name in ("train-0", "train-1", "train-2"):
        server.on("GET", f"{EXECUTIONS}/{name}", completed(name, name=name))
    cases = [word_case(n) for n in range(3)]
    assert [rollout.case.name for rollout in execute(server, *cases)] == ["train-0", "train-1", "train-2"]
    server.on("GET", f"{EXECUTIONS}/train-1", Answer(400))
    with pytest.raises(ComponentError, match="1 of 3 cases have no rollout; 'train-1': "):
        execute(server, *cases)


def _by_name(name):
    return execution(case=name, execution_id=name)


def test_not_more_rollouts_are_with_a_service_than_it_may_be(server):
    with_it, most = set(), []

    def submitted(seen):
        with_it.add(seen.body["case"]["name"])
        most.append(len(with_it))
        return _by_name(seen.body["case"]["name"])

    def done(seen):
        name = seen.path.rpartition("/")[2]
        with_it.discard(name)
        return completed(name, name=name)

    server.on("POST", EXECUTE, submitted)
    server.on("GET", f"{EXECUTIONS}/*", done)
    assert len(execute(server, *map(word_case, range(12)), parallel=3)) == 12
    assert max(most) <= 3


def test_another_service_than_expected(server):
    with pytest.raises(RemoteError, match="is another service now: '1', it was '0'") as caught:
        execute(server, expected=Health(name="words", version="0"))
    assert caught.value.fault == "other service"
    assert execute(server, expected=Health(name="words", version="1"))


def test_whoever_has_waited_for_nobody_does_not_wait_again(server):
    server.on("GET", HEALTH, "reset")
    executor = RemoteRolloutExecutor(connect(server))

    def attempts():
        before = len(server.requests)
        with pytest.raises(HttpError, match="cannot be reached"):
            asyncio.run(executor.execute([CASE], POLICY, CONTEXT))
        return len(server.requests) - before

    assert (attempts(), attempts()) == (3, 1)
    server.on("GET", HEALTH, {"status": "ok"})
    assert asyncio.run(executor.execute([CASE], POLICY, CONTEXT))
    server.on("GET", ONE, "reset")
    assert attempts() == 1 + 3 + 1  # submitted, asked for, taken back
    server.on("GET", HEALTH, "reset")
    assert (attempts(), attempts()) == (1, 1)


# --- cases


def pages(server, *pages, **options):
    """Serve pages by cursor; a page is (names, next cursor)."""
    found = {str(number) if number else None: page for number, page in enumerate(pages)}

    def answer(seen):
        names, following = found[seen.body["cursor"]]
        cases = [CaseJson.of(word_case(n)).model_dump(mode="json") for n in names]
        return {"cases": cases, "next_cursor": following}

    server.on("POST", QUERY, answer)
    return RemoteCaseLoader(connect(server), CasesQuery(split="train"), **{"page": 2, **options})


def names(loader, limit=None):
    return [case.name for case in asyncio.run(loader.load(limit))]


def test_pages_follow_each_other(server):
    loader = pages(server, ([0, 1], "1"), ([2, 3], "2"), ([4], None))
    assert names(loader) == [f"train-{n}" for n in range(5)]
    assert names(loader, 3) == ["train-0", "train-1", "train-2"]
    assert {seen.body["split"] for seen in server.requests} == {"train"}
    assert [seen.body["cursor"] for seen in server.requests] == [None, "1", "2", None, "1"]


def test_batches(server):
    loader = pages(server, ([0, 1], "1"), ([2], None), batch_size=2)

    async def batches():
        context = PipelineContext(case_load_context=CaseLoadContext(limit=3))
        return [[case.name for case in batch] async for batch in loader.batches(context)]

    assert asyncio.run(batches()) == asyncio.run(batches()) == [["train-0", "train-1"], ["train-2"]]


def test_labels_stay_with_the_service_unless_somebody_asks(server):
    assert GOLD not in str(asyncio.run(pages(server, ([0], None)).load()))
    assert GOLD in str(asyncio.run(pages(server, ([0], None), labels=True).load()))


def test_no_cases_are_no_error(server):
    assert names(pages(server, ([], None))) == []


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ([([0, 1], "1"), ([2], "1")], "circle"),
        ([([0], "1"), ([], "2"), ([1], None)], "without cases"),
        ([([0, 1], "1"), ([1], None)], "'train-1' twice"),
        ([([0, 1, 2], None)], "3 cases where 2 were asked for"),
    ],
)
def test_pages_that_are_none(server, found, why):
    with pytest.raises(HttpError, match=why) as caught:
        names(pages(server, *found))
    assert caught.value.kind == "wrong answer"
