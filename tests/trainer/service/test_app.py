from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.asgi import get, opened
from tests.openapi_requests import operations, requests
from tests.served import BASE, service, small_store
from trainer.service.app import make_service
from trainer.service.tenants import Served
from trainer.web.keys import KeyFile
from xpstore.errors import FormatError

DOCUMENT = make_service(Served(None)).openapi()  # nothing is opened before it is started
ROUTES = operations(DOCUMENT)
WRITING = {"batch-write", "mkdir", "mv", "cp"}
"""What content/write stands for."""
TRIED = [route for route in ROUTES if route.path.rpartition("/")[2] not in WRITING]


@pytest.fixture(scope="module")
def loc(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("app") / "s", "refund")


@pytest.fixture(scope="module")
def talking(loc):
    with opened(service(loc)) as talking:
        yield talking


@pytest.fixture(scope="module")
def known(talking) -> dict[str, list[str]]:
    """Names of things that are there."""
    posts = [
        ("sessions", {"session_id": "s1"}),
        ("sessions/s1/messages", {"role": "user", "content": "hello"}),
        ("sessions/s1/commit", {}),
        ("sessions/s1/messages", {"role": "user", "content": "again"}),
    ]
    done = [talking.request("POST", f"/api/v1/{path}", json=body).json()["result"] for path, body in posts]
    return {
        "session_id": ["s1"],
        "task_id": [done[2]["task_id"]],
        "archive_id": ["archive_001"],
        "uri": [BASE, f"{BASE}/refund.md", f"{done[2]['archive_uri']}/memory_diff.json", "viking://"],
    }


def test_the_description_has_all_routes_of_the_session_api():
    paths = {path.removeprefix("/api/v1/") for path in DOCUMENT["paths"]}
    assert paths >= {
        *("sessions", "sessions/{session_id}", "sessions/{session_id}/messages"),
        *("sessions/{session_id}/messages/batch", "sessions/{session_id}/commit"),
        *("tasks", "tasks/{task_id}", "tasks/{task_id}/retry", "tasks/{task_id}/cancel"),
        *("fs", "fs/ls", "fs/stat", "content/read", "content/write", "search/find", "search/search"),
    }
    ids = [route.declared["operationId"] for route in ROUTES]
    assert len({*ids}) == len(ids)
    json.dumps(DOCUMENT, allow_nan=False)


@pytest.mark.parametrize("route", TRIED, ids=str)
@settings(max_examples=6, deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_no_request_is_answered_by_a_defect(talking, known, route, data):
    options = data.draw(requests(DOCUMENT, route, known))
    answer = talking.request(route.method.upper(), options.pop("url"), **options)
    assert answer.status_code < 500, answer.text
    if route.path != "/health":
        told = answer.json()
        assert {*told} >= {"status", "result", "error", "telemetry", "profile"}
        assert (told["status"] == "ok") == (told["error"] is None) == (answer.status_code < 400)


def test_keys_are_asked_for_where_there_are_some(tmp_path):
    loc = small_store(tmp_path / "s")
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("desk")
    app = service(loc, file)
    assert get(app, "/health").json()["auth_mode"] == "api_key"
    refused = get(app, "/api/v1/fs/ls")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "UNAUTHENTICATED")
    listed = get(app, "/api/v1/fs/ls", headers={"x-api-key": key})
    assert listed.json()["result"][0]["uri"] == "viking://user/desk"


def test_health_is_as_clients_expect_it(talking):
    told = talking.request("GET", "/health").json()
    assert (told["status"], told["healthy"], told["auth_mode"]) == ("ok", True, "dev")
    assert told["version"]


def test_keys_that_cannot_be_read_are_an_error_at_once(loc, tmp_path):
    (tmp_path / "keys.json").write_text("{")
    with pytest.raises(FormatError):
        service(loc, KeyFile(tmp_path / "keys.json"))
