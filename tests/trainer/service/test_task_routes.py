from __future__ import annotations

import pytest

from tests.asgi import opened
from tests.served import service, small_store


@pytest.fixture(scope="module")
def talking(tmp_path_factory):
    loc = small_store(tmp_path_factory.mktemp("tasks") / "s", "refund")
    with opened(service(loc)) as talking:
        yield talking


def asked(talking, method, path, status=200, **options):
    answer = talking.request(method, f"/api/v1/{path}", **options)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_task_from_commit_to_end(talking):
    asked(talking, "POST", "sessions", json={"session_id": "s"})
    asked(talking, "POST", "sessions/s/messages", json={"role": "user", "content": "hello"})
    task = asked(talking, "POST", "sessions/s/commit", json={})["result"]["task_id"]
    found = asked(talking, "GET", f"tasks/{task}")["result"]
    while found["status"] in {"pending", "running"}:
        found = asked(talking, "GET", f"tasks/{task}")["result"]
    assert (found["status"], found["task_type"], found["resource_id"]) == ("completed", "session_commit", "s")
    assert "nothing shows how it came out" in found["result"]["why_nothing"]
    assert asked(talking, "GET", "tasks?resource_id=s&status=completed")["result"] == [found]
    assert asked(talking, "GET", "tasks?task_type=other")["result"] == []
    assert asked(talking, "GET", "tasks?limit=0")["result"] == []
    for change in ("retry", "cancel"):
        said = asked(talking, "POST", f"tasks/{task}/{change}", 409)
        assert said["error"]["code"] == "CONFLICT"


@pytest.mark.parametrize("path", ["tasks/nix", "tasks/nix/retry", "tasks/nix/cancel"])
def test_a_task_that_is_not_there(talking, path):
    said = asked(talking, "GET" if path.count("/") == 1 else "POST", path, 404)
    assert (said["error"]["code"], said["error"]["message"]) == ("NOT_FOUND", "Task not found or expired")


def test_a_state_that_there_is_not(talking):
    assert asked(talking, "GET", "tasks?status=nope", 400)["error"]["code"] == "INVALID_ARGUMENT"
