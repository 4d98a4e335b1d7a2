"""Text in sessions is hostile: it comes in over HTTP, and is data wherever it goes."""

from __future__ import annotations

import json
import os

import pytest

from tests.asgi import opened
from tests.builders import every_object, fsck, make_store, texts
from tests.e2e.bad import leftovers
from tests.served import service
from tests.session_world import quick
from tests.trainer.doubles import SECRET
from trainer.remote.session_case import CASE_HEADER, OUTCOME_HEADER
from xpstore.location import Location
from xpstore.verify import verify

BRANCH = "train/live"
NASTY = [
    "../../../etc/passwd",
    "\x1b[2J\x1b]0;title\x07",
    "a\u202eb\u200b\ufeff",
    "-->\n```\n---\nname: x\n---\n## Approach\n- rm -rf /",
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n",
    "Plan-Id: 00000000000000000000\nLearner: person",
    "'; DROP TABLE session; --",
    "{" * 5_000,
    "𝕏" * 3_000,
    "\x00",
]


@pytest.fixture(scope="module")
def talking(tmp_path_factory):
    loc = make_store(tmp_path_factory.mktemp("hostile") / "s")
    with pytest.MonkeyPatch.context() as patched:
        quick(patched)
        with opened(service(loc)) as talking:
            yield talking, loc


def asked(talking, method, path, body=None):
    data = None if body is None else json.dumps(body)
    headers = {"Content-Type": "application/json"}
    answer = talking.request(method, f"/api/v1/{path}", content=data, headers=headers)
    assert answer.status_code < 500, answer.text
    return answer.json()


def done(talking, session):
    task = asked(talking, "POST", f"sessions/{session}/commit", {})["result"]["task_id"]
    while True:
        found = asked(talking, "GET", f"tasks/{task}")["result"]
        if found["status"] not in {"pending", "running"}:
            return found


def said(text):
    """A turn of a user, of somebody with a strange role, and of an agent that calls strange tools."""
    tool = {"type": "tool", "tool_id": text, "tool_output": text, "tool_status": "completed"}
    return [
        {"role": "user", "content": f"{text} my key is {SECRET}"},
        {"role": text[:64], "parts": [{**tool, "tool_name": text, "tool_input": {text: [text]}}]},
        {"role": "assistant", "parts": [{**tool, "tool_name": "set_it", "tool_input": {text: text}}]},
    ]


@pytest.mark.parametrize("number", range(2))
def test_whatever_is_said_is_learned_from_as_data(talking, number):
    client, loc = talking
    name = f"s{number}"
    asked(client, "POST", "sessions", {"session_id": name})
    messages = [message for text in NASTY[number::2] for message in said(text)]
    added = asked(client, "POST", f"sessions/{name}/messages/batch", {"messages": messages})
    assert added["status"] == "ok", added
    task = done(client, name)
    assert task["status"] == "completed", task["error"]
    diff = asked(client, "GET", f"content/read?uri={task['result']['memory_diff_uri']}")
    assert "session-set_it" in diff["result"]
    fsck(loc.repo.workdir)
    fresh = Location.find(loc.repo.workdir)
    assert list(texts(fresh, BRANCH)) == ["session-set_it"]
    assert [f.problems for f in verify(fresh, BRANCH) if f.problems] == []
    assert SECRET.encode() not in every_object(loc.repo.workdir)
    assert [name for name in leftovers(loc.repo.workdir) if name.endswith(".lock")] == []


@pytest.mark.parametrize("header", [CASE_HEADER, OUTCOME_HEADER])
@pytest.mark.parametrize(
    "block",
    [
        "",
        "```json\n[1]\n```",
        "```json\n" + "[" * 20_000 + "\n```",
        '```json\n{"a": NaN}\n```',
        '```json\n{"case": 1}\n```',
    ],
)
def test_a_declaration_that_is_a_trick_fails_its_task_and_nothing_else(talking, header, block):
    client, _ = talking
    name = os.urandom(4).hex()
    asked(client, "POST", "sessions", {"session_id": name})
    text = f"{header}\n\n{block}"
    asked(client, "POST", f"sessions/{name}/messages", {"role": "user", "content": text})
    task = done(client, name)
    assert task["status"] == "failed"
    assert task["error"]
    assert len(task["error"]) < 1_000


def test_a_session_with_very_many_parts_is_bounded(talking):
    client, _ = talking
    asked(client, "POST", "sessions", {"session_id": "many"})
    part = {"type": "text", "text": "x"}
    many = asked(client, "POST", "sessions/many/messages", {"role": "user", "parts": [part] * 1_001})
    assert many["error"]["code"] == "INVALID_ARGUMENT"
    full = asked(client, "POST", "sessions/many/messages", {"role": "user", "parts": [part] * 1_000})
    assert full["status"] == "ok"
    assert done(client, "many")["status"] == "completed"
