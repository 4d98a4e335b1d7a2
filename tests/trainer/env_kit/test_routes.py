"""The endpoints as the RFC has them, field by field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.asgi import get, opened
from tests.env_world import SNAPSHOT, Words, ended, post, submission
from tests.openapi_requests import ANYTHING, operations, requests
from trainer.env_kit.service import make_service
from trainer.remote.protocol import EXECUTE, EXECUTIONS, QUERY

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


@pytest.fixture
def talking():
    with opened(make_service(Words())) as talking:
        yield talking


def test_a_page_has_the_fields_of_the_rfc(talking):
    page = post(talking, QUERY, golden("cases_query") | {"domain": "", "limit": 2}).json()
    example = golden("cases_page")
    assert page.keys() == example.keys()
    assert page["next_cursor"] == "2"
    assert page["cases"][0].keys() == example["cases"][0].keys()
    assert page["cases"][0]["rubric"].keys() == example["cases"][0]["rubric"].keys()
    last = post(talking, QUERY, {"cursor": "4"}).json()
    assert last["next_cursor"] is None


def test_an_execution_has_the_fields_of_the_rfc(talking):
    submitted = post(talking, EXECUTE, submission(talking)).json()
    assert submitted.keys() == golden("execution_submitted").keys()
    assert submitted["status"] == "running"
    done = ended(talking, submitted["execution_id"])
    example = golden("execution_completed")
    assert done.keys() == example.keys()
    assert done["rollout"].keys() == example["rollout"].keys()
    assert done["rollout"]["messages"][1]["parts"][0].keys() == (
        example["rollout"]["messages"][1]["parts"][0].keys()
    )
    assert done["rollout"]["evaluation"].keys() == example["rollout"]["evaluation"].keys()
    assert done["rollout"]["policy_snapshot_id"] == SNAPSHOT


def test_a_failed_execution_has_the_fields_of_the_rfc():
    runtime = Words()
    runtime.make = lambda _: 1 / 0
    with opened(make_service(runtime)) as talking:
        submitted = post(talking, EXECUTE, submission(talking)).json()
        failed = ended(talking, submitted["execution_id"])
    assert failed.keys() == golden("execution_failed").keys()
    assert failed["error"] == "ZeroDivisionError: division by zero"


def test_the_header_is_the_key(talking):
    body = submission(talking)
    first, second, third = (
        post(talking, EXECUTE, body, **({"Idempotency-Key": key} if key else {})).json()["execution_id"]
        for key in ("k", "k", "")
    )
    assert first == second != third
    changed = post(talking, EXECUTE, submission(talking, options={"a": 1}), **{"Idempotency-Key": "k"})
    assert changed.status_code == 409


def test_an_execution_is_taken_back(talking):
    body = submission(talking)
    execution_id = post(talking, EXECUTE, body).json()["execution_id"]
    state = talking.request("DELETE", f"{EXECUTIONS}/{execution_id}").json()
    assert state["status"] in {"cancelled", "completed"}
    assert talking.request("GET", f"{EXECUTIONS}/{execution_id}").json() == state


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", QUERY, {"limit": 0}, 400),
        ("POST", QUERY, {"split": "moon"}, 400),
        ("POST", QUERY, {"cursor": "x"}, 400),
        ("POST", QUERY, [], 400),
        ("POST", EXECUTE, {}, 400),
        ("POST", EXECUTE, {"case": {"name": "", "rubric": {"name": "r"}}}, 400),
        ("POST", EXECUTE, {"case": {"name": "a", "rubric": {"name": "r"}}}, 400),
        ("GET", f"{EXECUTIONS}/rollout_exec_0", None, 404),
        ("GET", f"{EXECUTIONS}/..%2F..%2Fetc", None, 404),
        ("GET", f"{EXECUTIONS}/{'a' * 300}", None, 400),
        ("DELETE", f"{EXECUTIONS}/rollout_exec_0", None, 404),
        ("GET", EXECUTE, None, 405),
        ("GET", "/v1", None, 404),
    ],
)
def test_what_is_wrong_is_told_in_one_form(talking, method, path, body, status):
    answer = talking.request(method, path, json=body)
    assert answer.status_code == status
    assert answer.json()["error"].keys() == {"code", "message", "details"}


DOCUMENT = get(make_service(Words()), "/openapi.json").json()


@pytest.mark.parametrize("route", operations(DOCUMENT), ids=str)
@settings(max_examples=6, deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_no_request_is_answered_by_a_defect(talking, route, data):
    options = data.draw(requests(DOCUMENT, route, {"execution_id": ["rollout_exec_0"]}))
    answer = talking.request(route.method.upper(), options.pop("url"), **options)
    assert answer.status_code < 500, answer.text
    assert isinstance(answer.json(), dict)
    assert ("error" not in answer.json()) or answer.status_code >= 400 or "status" in answer.json()


@settings(max_examples=12, deadline=None, suppress_health_check=[*HealthCheck])
@given(name=st.text(), content=st.text(), front=st.none() | st.text(), more=ANYTHING)
def test_no_experience_and_no_metadata_is_a_defect(talking, name, content, front, more):
    policy = {"name": name, "content": content, "front_matter": front, "metadata": {"a": more}}
    body = {
        "case": {"name": "train-0", "rubric": {"name": "said"}, "metadata": {"split": more}},
        "policy_set": {"policies": [policy]},
        "execution_context": {"metadata": {"seed": more, "training": more, "idempotency_key": more}},
    }
    answer = post(talking, EXECUTE, body)
    assert answer.status_code in {200, 400, 409, 429}, answer.text
