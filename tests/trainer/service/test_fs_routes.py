from __future__ import annotations

import pytest

from tests.asgi import opened
from tests.builders import git, page
from tests.served import BASE, service, small_store
from xpstore.hashing import blob_id


@pytest.fixture(scope="module")
def loc(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("fs") / "s", "refund", "cancel")


@pytest.fixture(scope="module")
def talking(loc):
    with opened(service(loc)) as talking:
        yield talking


@pytest.fixture
def ask(talking):
    """Return a function that gives the answers to several GETs."""

    def ask(*calls: tuple[str, dict[str, object]]):
        return [talking.request("GET", f"/api/v1/{path}", params=params) for path, params in calls]

    return ask


def test_a_listing_has_rows_and_names_its_commit(ask, loc):
    [answer] = ask(("fs/ls", {"uri": BASE}))
    assert answer.headers["x-xp-commit"] == git(loc.repo.place, "rev-parse", "main")
    body = answer.json()
    assert (body["status"], body["has_more"]) == ("ok", False)
    first = body["result"][0]
    assert first["modTime"].endswith(".000Z")
    assert {k: v for k, v in first.items() if k != "modTime"} == {
        "uri": f"{BASE}/cancel.md",
        "size": len(page("cancel", "Ask why before cancel.", "Be kind.")),
        "isDir": False,
        "abstract": "When cancel is asked for.",
    }
    assert [row["uri"] for row in body["result"]] == [f"{BASE}/cancel.md", f"{BASE}/refund.md"]  # no draft


def test_listings_of_all_kinds(ask):
    user = "viking://user/default"
    files = [f"{BASE}/cancel.md", f"{BASE}/refund.md"]
    below = [f"{user}/memories", BASE, f"{user}/sessions"]
    wanted = [
        ({"uri": f"{user}/memories"}, [BASE]),
        ({"uri": f"{user}/memories", "recursive": True}, [BASE, *files]),
        ({"uri": "viking://~/memories", "recursive": True}, [BASE, *files]),
        ({"uri": user}, [f"{user}/memories", f"{user}/sessions"]),
        ({"uri": "viking://"}, [user]),
        ({"recursive": True}, [user, *below, *files]),
        ({"uri": f"{user}/sessions"}, []),
        ({"uri": BASE, "offset": 1}, files[1:]),
        ({"uri": BASE, "sort_by": "name", "sort_order": "desc"}, files[::-1]),
        ({"uri": BASE, "sort_by": "size"}, files),
        ({"uri": BASE, "sort_by": "time"}, files),
    ]
    answers = ask(*(("fs/ls", {**params, "simple": True}) for params, _ in wanted))
    assert [answer.json()["result"] for answer in answers] == [names for _, names in wanted]


def test_a_long_listing_comes_in_parts(ask):
    first, last, none = ask(
        ("fs/ls", {"uri": BASE, "simple": True, "node_limit": 1}),
        ("fs/ls", {"uri": BASE, "simple": True, "limit": 1, "offset": 1}),
        ("fs/ls", {"uri": BASE, "abs_limit": 4, "limit": 0}),
    )
    assert (first.json()["result"], first.json()["has_more"]) == ([f"{BASE}/cancel.md"], True)
    assert (last.json()["result"], last.json()["has_more"]) == ([f"{BASE}/refund.md"], False)
    assert none.json()["has_more"]


def test_reading_gives_what_agents_read_or_the_file(ask):
    uri = f"{BASE}/refund.md"
    text = page("refund", "Ask why before refund.", "Be kind.")
    read, raw, lines, rest = ask(
        ("content/read", {"uri": uri, "offset": 0, "limit": -1}),
        ("content/read", {"uri": uri, "raw": True}),
        ("content/read", {"uri": uri, "raw": True, "offset": 1, "limit": 2}),
        ("content/read", {"uri": uri, "raw": True, "offset": 8}),
    )
    assert read.json()["result"] == (
        "# refund\n\nWhen refund is asked for.\n\n## Approach\n\n- Ask why before refund.\n- Be kind.\n"
    )
    assert raw.json()["result"] == text
    assert lines.json()["result"] == "name: refund\ndescription: When refund is asked for."
    assert rest.json()["result"] == "- Be kind.\n"
    assert {len(answer.headers["x-xp-commit"]) for answer in (read, raw)} == {40}


def test_stat_tells_what_a_name_is(ask):
    file, folder, root = ask(
        ("fs/stat", {"uri": f"{BASE}/refund.md"}),
        ("fs/stat", {"uri": BASE}),
        ("fs/stat", {"uri": "viking://"}),
    )
    row = file.json()["result"]
    assert (row["name"], row["isDir"], row["status"]) == ("refund.md", False, "production")
    assert row["blob"] == blob_id(page("refund", "Ask why before refund.", "Be kind."))
    assert (folder.json()["result"]["name"], folder.json()["result"]["isDir"]) == ("experiences", True)
    assert root.json()["result"]["isDir"]


@pytest.mark.parametrize(
    ("path", "uri", "status", "code"),
    [
        ("content/read", f"{BASE}/nothing.md", 404, "NOT_FOUND"),
        ("content/read", f"{BASE}/unsure.md", 404, "NOT_FOUND"),  # a draft is not served
        ("content/read", BASE, 404, "NOT_FOUND"),
        ("content/read", f"{BASE}/../../xp.toml", 400, "INVALID_URI"),
        ("content/read", "viking://user/bob/memories/experiences/refund.md", 403, "PERMISSION_DENIED"),
        ("content/read", "viking://~/sessions/none/history/archive_001/memory_diff.json", 404, "NOT_FOUND"),
        ("content/read", "refund", 400, "INVALID_URI"),
        ("content/read", "", 400, "INVALID_URI"),
        ("fs/ls", f"{BASE}/refund.md", 400, "INVALID_ARGUMENT"),
        ("fs/ls", "viking://user/default/memories/cases", 404, "NOT_FOUND"),
        ("fs/stat", "viking://user/default/memories/cases", 404, "NOT_FOUND"),
        ("fs/stat", "viking://resources", 404, "NOT_FOUND"),
        ("fs/ls", "x" * 4_001, 400, "INVALID_ARGUMENT"),
    ],
)
def test_what_is_not_there_is_told_with_its_code(ask, path, uri, status, code):
    [answer] = ask((path, {"uri": uri}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["status"] == "error"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "content/write"),
        ("POST", "content/batch-write"),
        ("DELETE", f"fs?uri={BASE}/refund.md"),
        ("POST", "fs/mkdir"),
        ("POST", "fs/mv"),
        ("POST", "fs/cp"),
    ],
)
def test_experiences_are_changed_by_plans_only(talking, loc, method, path):
    before = git(loc.repo.place, "for-each-ref")
    answer = talking.request(method, f"/api/v1/{path}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (403, "PERMISSION_DENIED")
    assert "each change is a commit" in error["message"]
    assert git(loc.repo.place, "for-each-ref") == before
