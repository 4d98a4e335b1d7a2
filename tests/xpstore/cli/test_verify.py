from __future__ import annotations

import json

import pytest

from tests.builders import make_plan, upsert
from xpstore.commit import commit
from xpstore.location import Location


@pytest.fixture
def plan_id(store) -> str:
    loc = Location.find(store.path)
    plan = make_plan(loc, upsert("new-page", "Do this.\n"), subject="Teach it", rollouts=())
    commit(loc, [plan], "main")
    return plan.plan_id


def test_all_is_well(store, plan_id):
    assert store.xp("verify") == (0, "1 plan: 1 intact, 0 carried, 0 altered\n", "")
    answer = store.json("verify", "main")
    assert answer["counts"] == {"intact": 1, "carried": 0, "altered": 0}
    assert [(f["plan_id"], f["state"]) for f in answer["findings"]] == [(plan_id, "intact")]


def test_an_altered_plan_is_a_no(store, plan_id):
    message = store.git("log", "-1", "--format=%B").replace("Run-Id: run-1", "Run-Id: run-9")
    store.git("commit", "-q", "--amend", "-m", message)
    code, out, _ = store.xp("verify")
    assert code == 1
    assert out.startswith("altered  ")
    assert f"plan {plan_id}" in out
    assert out.endswith("1 plan: 0 intact, 0 carried, 1 altered\n")
    code, out, _ = store.xp("verify", "--json")
    assert code == 1
    assert json.loads(out)["findings"][0]["problems"]


def test_an_unknown_ref(store):
    assert store.xp("verify", "nowhere")[0] == 1
