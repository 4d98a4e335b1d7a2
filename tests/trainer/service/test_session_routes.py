from __future__ import annotations

import pytest

from tests.asgi import opened
from tests.served import service, small_store

BASE = "/api/v1/sessions"
MANY = {"messages": [{"role": "user", "content": ""}] * 101}


@pytest.fixture(scope="module")
def talking(tmp_path_factory):
    loc = small_store(tmp_path_factory.mktemp("routes") / "s", "refund")
    with opened(service(loc)) as talking:
        yield talking


def asked(talking, method, path, status=200, **options):
    answer = talking.request(method, f"{BASE}{path}", **options)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_session_as_clients_of_openviking_write_it(talking):
    policy = {"memory_types": ["cases", "trajectories", "experiences"], "working_memory": {"enabled": False}}
    made = asked(talking, "POST", "", json={"session_id": "train_demo_1", "memory_policy": policy})
    assert made == {
        "status": "ok",
        "result": {
            "session_id": "train_demo_1",
            "uri": "viking://user/default/sessions/train_demo_1",
            "user": {"account_id": "default", "user_id": "default"},
            "auto_commit_policy": None,
            "memory_extraction_config": {"events": {"tags": []}},
        },
        "error": None,
        "telemetry": None,
        "profile": None,
    }
    again = asked(talking, "POST", "?profile=1", 409, json={"session_id": "train_demo_1"})
    assert (again["status"], again["error"]["code"]) == ("error", "ALREADY_EXISTS")
    assert again["error"]["details"]["resource"] == "train_demo_1"
    tool = {"type": "tool", "tool_id": "t", "tool_name": "look", "tool_uri": "", "tool_input": {"a": 1}}
    tool |= {"skill_uri": "", "tool_output": "{}", "tool_status": "completed", "duration_ms": 3}
    messages = [
        {"role": "user", "parts": [{"type": "text", "text": "Look"}], "created_at": "2026-11-29T10:00:00Z"},
        {"role": "assistant", "parts": [tool], "peer_id": "p", "unknown": 1},
    ]
    added = asked(talking, "POST", "/train_demo_1/messages/batch", json={"messages": messages})
    assert added["result"] == {
        "session_id": "train_demo_1",
        "message_count": 2,
        "added": 2,
        "pending_tokens": added["result"]["pending_tokens"],
    }
    done = asked(talking, "POST", "/train_demo_1/commit", json={"telemetry": True, "keep_recent_count": 0})
    assert done["result"]["status"] == "accepted"
    assert done["telemetry"]["summary"]["operation"] == "session.commit"
    assert asked(talking, "GET", "/train_demo_1")["result"]["commit_count"] == 1
    assert len(asked(talking, "GET", "/train_demo_1/archives/archive_001")["result"]["messages"]) == 2
    skipped = asked(talking, "POST", "/train_demo_1/commit", json={"telemetry": False})
    assert (skipped["result"]["reason"], skipped["telemetry"]) == ("no_messages", None)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "", {"session_id": "a/b"}, 400, "INVALID_ARGUMENT"),
        ("POST", "", {"memory_policy": {"memory_types": ["nope"]}}, 400, "INVALID_ARGUMENT"),
        ("POST", "", {"session_id": 7}, 400, "INVALID_ARGUMENT"),
        ("POST", "/nix/commit", {}, 404, "NOT_FOUND"),
        ("POST", "/nix/messages", {"role": "user", "content": "x"}, 404, "NOT_FOUND"),
        ("POST", "/n/messages/batch", MANY, 400, "INVALID_ARGUMENT"),
        ("POST", "/n/messages", {"role": "user"}, 400, "INVALID_ARGUMENT"),
        ("POST", "/n/commit", {"keep_recent_count": -1}, 400, "INVALID_ARGUMENT"),
        ("GET", "/..%2f..%2fetc", None, 404, "NOT_FOUND"),
        ("GET", "/%00", None, 400, "INVALID_ARGUMENT"),
        ("GET", "/nix", None, 404, "NOT_FOUND"),
        ("GET", "/nix/archives/archive_001", None, 404, "NOT_FOUND"),
        ("DELETE", "/nix", None, 404, "NOT_FOUND"),
        ("PATCH", "/nix/config", {}, 404, "NOT_FOUND"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_has_the_code_that_clients_know(  # noqa: PLR0917  # a row of the table
    talking, method, path, body, status, code
):
    said = asked(talking, method, path, status, json=body)
    assert (said["status"], said["error"]["code"]) == ("error", code)


def test_the_same_message_twice_is_there_once(talking):
    asked(talking, "POST", "", json={"session_id": "twice"})
    body = {"id": "m1", "role": "user", "content": "Hi"}
    assert asked(talking, "POST", "/twice/messages", json=body)["result"]["added"] == 1
    assert asked(talking, "POST", "/twice/messages", json=body)["result"]["added"] == 0
    other = asked(talking, "POST", "/twice/messages", 409, json={**body, "content": "Ho"})
    assert other["error"]["code"] == "ALREADY_EXISTS"
    assert asked(talking, "GET", "/twice/context?token_budget=100")["result"]["messages"][0]["id"] == "m1"


def test_an_output_that_is_kept_aside_is_read_in_stretches(talking):
    asked(talking, "POST", "", json={"session_id": "long"})
    part = {"type": "tool", "tool_id": "t", "tool_name": "dump", "tool_output": "ab" * 15_000}
    asked(talking, "POST", "/long/messages", json={"role": "assistant", "parts": [part]})
    (message,) = asked(talking, "GET", "/long/context")["result"]["messages"]
    path = f"/long/tool-results/{message['parts'][0]['tool_output_ref']}"
    found = asked(talking, "GET", f"{path}?offset=29999&limit=10")["result"]
    assert (found["content"], found["total_chars"], found["has_more"]) == ("b", 30_000, False)
    assert asked(talking, "GET", "")["result"][0]["session_id"] == "long"
    assert asked(talking, "GET", "/fresh?auto_create=true")["result"]["message_count"] == 0
    assert (
        asked(talking, "PATCH", "/long/config", json={"memory_policy": {}})["result"]["memory_policy"] == {}
    )
    assert asked(talking, "DELETE", "/long")["result"]["deleted"] is True
