from __future__ import annotations

import pytest

from tests.asgi import opened
from tests.served import BASE, service, small_store


@pytest.fixture(scope="module")
def loc(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("search") / "s", "refund", "cancel")


@pytest.fixture(scope="module")
def talking(loc):
    with opened(service(loc)) as talking:
        yield talking


@pytest.fixture
def find(talking):
    def find(*bodies: dict[str, object], path: str = "find"):
        return [talking.request("POST", f"/api/v1/search/{path}", json=body) for body in bodies]

    return find


def names(answer) -> list[str]:
    result = answer.json()["result"]
    assert (result["resources"], result["skills"], result["total"]) == ([], [], len(result["memories"]))
    return [row["uri"].removeprefix(f"{BASE}/") for row in result["memories"]]


def test_a_hit_is_a_memory_with_a_score(find):
    [answer] = find(
        {"query": "a refund", "limit": 1, "target_uri": "", "session_id": None, "filter": {"a": 1}}
    )
    [row] = answer.json()["result"]["memories"]
    assert 0 < row.pop("score") <= 1
    assert row == {
        "context_type": "memory",
        "uri": f"{BASE}/refund.md",
        "level": 2,
        "abstract": "When refund is asked for.",
        "tags": [],
    }
    assert len(answer.headers["x-xp-commit"]) == 40


def test_where_how_many_and_how_well_can_be_said(find):
    query = {"query": "refund or cancel, unsure"}
    answers = find(
        query,
        {**query, "limit": 1},
        {**query, "limit": 10, "node_limit": 1},
        {**query, "target_uri": "viking://user/default/memories"},
        {**query, "target_uri": [f"{BASE}/cancel.md", "viking://user/default/sessions"]},
        {**query, "target_uri": "viking://user/default/sessions"},
        {**query, "score_threshold": 1},
        {"query": ""},
        {**query, "limit": 0},
    )
    found = [sorted(names(answer)) for answer in answers]
    both = ["cancel.md", "refund.md"]
    assert found[0] == found[3] == both  # the draft is not served
    assert [len(rows) for rows in found[1:3]] == [1, 1]
    assert found[4:] == [["cancel.md"], [], [], [], []]


def test_a_hit_comes_with_its_text_where_that_is_wanted(find):
    [answer] = find({"query": "refund", "read_content": True}, path="search")
    assert "- Ask why before refund." in answer.json()["result"]["memories"][0]["content"]


@pytest.mark.parametrize(
    "body",
    [
        {"limit": -1},
        {"query": "x" * 10_001},
        {"target_uri": "nowhere"},
        {"score_threshold": 2},
        {"read_content": 1},
        [],
    ],
)
def test_what_cannot_be_looked_for_is_refused(find, body):
    [answer] = find(body)
    assert answer.status_code == 400
