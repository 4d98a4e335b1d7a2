from __future__ import annotations

import asyncio

import pytest

from tests.env_world import Words, completed, execution, said, serving
from tests.json_server import Answer, json_server
from trainer.domain import Message, TextPart
from trainer.env_kit import check as checking
from trainer.env_kit.check import CHECKS, SNAPSHOT, check
from trainer.env_kit.service import make_service
from trainer.remote.client import JsonClient
from trainer.remote.protocol import EXECUTE, EXECUTIONS, HEALTH, QUERY, CaseJson, CasesQuery

CASE = {"name": "a", "rubric": {"name": "r", "criteria": [{"name": "said"}]}}
ONE = f"{EXECUTIONS}/rollout_exec_1"


def checked(url, query=None, **options):
    async def work():
        async with JsonClient(url, retries=0) as client:
            return [each async for each in check(client, query or CasesQuery(), **options)]

    return {each.name: each for each in asyncio.run(work())}


def failed(found):
    return {name: each.why for name, each in found.items() if not each.ok}


def test_a_service_of_the_kit_passes():
    runtime = Words()
    with serving(make_service(runtime)) as url:
        found = checked(url, CasesQuery(split="test"))
    assert list(found) == list(CHECKS)
    assert failed(found) == {}
    assert found["health"].why == "words 1"
    assert {request.case.name for request in runtime.requests} == {"test-0"}


def test_nobody_is_there():
    assert len(failed(checked("http://127.0.0.1:9"))) == len(CHECKS)


def test_options_go_with_the_rollout():
    runtime = Words()
    with serving(make_service(runtime)) as url:
        checked(url, options={"turns": 3})
    assert {request.options["turns"] for request in runtime.requests} == {3}


@pytest.fixture
def service(monkeypatch):
    """A service that does everything right, until a test says otherwise."""
    monkeypatch.setattr(checking, "FIRST_POLL", 0.0)

    def submitted(seen):
        fits = isinstance(seen.body["case"], dict)
        return execution(case="a") if fits else Answer(400, {"error": "no case"})

    with json_server() as server:
        server.on("GET", HEALTH, {"status": "ok", "name": "words", "version": "1"})
        server.on("POST", QUERY, {"cases": [CASE], "next_cursor": None})
        server.on("POST", EXECUTE, submitted)
        server.on("GET", ONE, _done())
        server.on("DELETE", ONE, execution("cancelled", case="a"))
        yield server


def _done(**more):
    state = completed("a", SNAPSHOT)
    return {**state, "rollout": {**state["rollout"], **more}}


def test_one_that_does_everything_right(service):
    assert failed(checked(service.url)) == {}


def _case(**more):
    return CaseJson.model_validate({**CASE, **more}).model_dump(mode="json")


MORE = {"cases": [CASE], "next_cursor": "1"}
LAST = {"cases": [CASE]}
MOON = {"criterion_name": "moon", "passed": True, "score": 1}
WRONGS = [  # which check tells it; what it says; method, path, answers
    ("health", "no name and version", "GET", HEALTH, [{"status": "ok"}]),
    ("health", "no JSON", "GET", HEALTH, [Answer(200, b"<html>")]),
    ("cases", "no cases", "POST", QUERY, [{"cases": []}]),
    ("cases", "4 cases came where limit is 3", "POST", QUERY, [{"cases": [CASE] * 4}]),
    ("cases", "no criteria", "POST", QUERY, [{"cases": [_case(rubric={"name": "r"})]}]),
    ("pages", "leads nowhere", "POST", QUERY, [LAST, {**MORE, "cases": []}]),
    ("pages", "comes twice", "POST", QUERY, [MORE, MORE, LAST]),
    ("pages", "another one", "POST", QUERY, [LAST, LAST, {"cases": [_case(name="b")]}]),
    ("unknown fields", "422", "POST", QUERY, [LAST, LAST, LAST, Answer(422)]),
    ("wrong request", "it was taken", "POST", EXECUTE, [execution(case="a")]),
    ("wrong request", "has to be a 4xx", "POST", EXECUTE, [Answer(500)]),
    ("unknown execution", "there was one", "GET", f"{EXECUTIONS}/*", [execution(case="a")]),
    ("unknown execution", "has to be a 404", "GET", f"{EXECUTIONS}/*", [Answer(500)]),
    ("submission", "case_name is 'b'", "POST", EXECUTE, [Answer(400), execution(case="b")]),
    ("submission", "status is 'perhaps'", "POST", EXECUTE, [Answer(400), execution("perhaps", case="a")]),
    ("submitted twice", "second execution", "POST", EXECUTE,
     [Answer(400), execution(case="a"), execution(case="a", execution_id="rollout_exec_2")]),
    ("rollout", "failed: it is raining", "GET", ONE, [execution("failed", case="a", error="it is raining")]),
    ("rollout", "without a rollout", "GET", ONE, [execution("completed", case="a")]),
    ("rollout", "of case 'b'", "GET", ONE, [_done(case={"name": "b", "rubric": {"name": "r"}})]),
    ("rollout", "come back as it is", "GET", ONE, [_done(policy_snapshot_id="x")]),
    ("rollout", "no evaluation", "GET", ONE, [_done(evaluation=None)]),
    ("rollout", "not within 0 and 1", "GET", ONE, [_done(evaluation={"passed": True, "score": 7})]),
    ("rollout", "criterion 'moon'", "GET", ONE,
     [_done(evaluation={"passed": True, "score": 1, "criterion_results": [MOON]})]),
    ("rollout", "says and does nothing", "GET", ONE, [_done(messages=[])]),
    ("rollout", "not a valid rollout", "GET", ONE, [_done(messages=[{"parts": "x"}])]),
    ("rollout", "still running", "GET", ONE, [execution(case="a")]),
    ("cancellation", "answered 500", "DELETE", ONE, [Answer(500)]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "why", "method", "path", "answers"), WRONGS)
def test_each_wrong_is_told_by_its_check(service, name, why, method, path, answers):  # noqa: PLR0917
    service.on(method, path, *answers)
    assert why in failed(checked(service.url, seconds=0.2))[name]


def test_what_a_service_need_not_have(service):
    service.on("GET", HEALTH, Answer(404))
    service.on("DELETE", ONE, Answer(405))
    found = checked(service.url)
    assert failed(found) == {}
    assert "runs on there" in found["cancellation"].why
    assert "cannot keep scores" in found["health"].why


def test_calls_in_text_are_remarked_on():
    runtime = Words()
    talk = (Message(role="assistant", parts=(TextPart(text="tool-call: say"),)),)
    runtime.make = lambda request: said(request).model_copy(update={"messages": talk})
    with serving(make_service(runtime)) as url:
        assert "parts of type tool" in checked(url)["rollout"].why
