from __future__ import annotations

import json

import pytest

from tests.builders import make_plan, upsert
from xpstore.commit import commit
from xpstore.location import Location

PAGE = "## Approach\n\n- Do this.\n"


@pytest.fixture
def plan_id(store) -> str:
    loc = Location.find(store.path)
    plan = make_plan(loc, upsert("new-page", PAGE), subject="Teach it")
    commit(loc, [plan], "main")
    return plan.plan_id


def test_revert_undoes_a_plan_by_its_first_digits(store, plan_id):
    code, out, err = store.xp("revert", plan_id[:7])
    assert (code, err) == (0, "")
    head = store.git("rev-parse", "main")
    assert out == f'[main {head[:9]}] Revert "Teach it" (new-page)\n'
    assert not (store.path / "experiences" / "new-page.md").exists()
    assert store.xp("revert", plan_id)[0] == 1
    answer = store.json("revert", head)
    assert answer["subject"] == 'Reapply "Teach it"'
    assert (store.path / "experiences" / "new-page.md").read_text() == PAGE


def test_dry_run_names_later_commits_and_writes_nothing(store):
    loc = Location.find(store.path)
    file = store.path / "experiences" / "refund-item.md"
    before = file.read_text()
    plan = make_plan(loc, upsert("refund-item", before + "- Taught.\n", before), subject="Teach more")
    commit(loc, [plan], "main")
    store.write("refund-item", file.read_text() + "- By hand.\n")
    later = store.commit("Add to it")
    code, out, _ = store.xp("revert", "-n", plan.plan_id)
    assert code == 0
    assert out.splitlines() == [
        "1 later commit on the same experiences:",
        f"  {later[:9]} Add to it",
        'Would commit on main: Revert "Teach more" (refund-item)',
    ]
    answer = store.json("revert", plan.plan_id, "--dry-run")
    assert (answer["commit"], answer["undone"], answer["branch"]) == ("", [plan.plan_id], "main")
    assert answer["items"] == [{"kind": "upsert_experience", "name": "refund-item"}]
    assert [e["commit"] for e in answer["later"]] == [later]
    assert store.git("rev-parse", "main") == later
    store.json("revert", plan.plan_id)
    assert file.read_text() == before + "- By hand.\n"


def test_what_others_build_on_is_a_conflict(store, plan_id):
    store.write("new-page", PAGE + "- And that.\n")
    store.commit("Add to it")
    code, out, _ = store.xp("revert", "--json", plan_id)
    assert code == 1
    assert json.loads(out)["conflicts"] == ["new-page"]


@pytest.mark.parametrize(("args", "code"), [(["ffffff"], 1), (["main"], 2), ([], 2), (["--", "-x"], 1)])
def test_what_cannot_be_undone(store, args, code):
    assert store.xp("revert", *args)[0] == code
