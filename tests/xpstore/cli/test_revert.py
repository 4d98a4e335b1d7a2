from __future__ import annotations

import json

import pytest

from tests.builders import ROLLOUT, make_plan, upsert
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
    (undo,) = store.json("revert", head)["undos"]
    assert undo["subject"] == 'Reapply "Teach it"'
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
        "1 later commit on the same experiences stays:",
        f"  {later[:9]} Add to it",
        'Would commit on main: Revert "Teach more" (refund-item)',
    ]
    answer = store.json("revert", plan.plan_id, "--dry-run")
    (undo,) = answer["undos"]
    assert (undo["commit"], undo["undone"], answer["branch"]) == ("", [plan.plan_id], "main")
    assert undo["items"] == [{"kind": "upsert_experience", "name": "refund-item"}]
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


def test_later_plans_that_build_on_it_go_with_it_or_nothing_does(store, plan_id):
    loc = Location.find(store.path)
    more = make_plan(loc, upsert("new-page", PAGE + "- And that.\n", PAGE), subject="Teach more")
    sha = commit(loc, [more], "main")[0].commit
    for extra in ((), ("-n",)):
        code, out, err = store.xp("revert", plan_id, *extra)
        assert (code, out) == (1, "")
        assert f"1 later plan builds on it: {more.plan_id} ({sha[:9]}) Teach more" in err
    code, out, _ = store.xp("revert", "--json", plan_id)
    assert code == 1
    assert json.loads(out)["dependants"] == [
        {"plan_id": more.plan_id, "commit": sha, "subject": "Teach more"}
    ]
    assert store.git("rev-parse", "main") == sha
    code, out, _ = store.xp("revert", "--with-dependants", plan_id)
    assert code == 0
    assert out.splitlines() == [
        "1 later plan that builds on it goes with it:",
        f"  {sha[:9]} Teach more",
        f'[main {store.git("rev-parse", "main~1")[:9]}] Revert "Teach more" (new-page)',
        f'[main {store.git("rev-parse", "main")[:9]}] Revert "Teach it" (new-page)',
    ]
    assert not (store.path / "experiences" / "new-page.md").exists()


def test_a_run_and_evidence_are_undone_as_a_whole(store, plan_id):
    code, out, _ = store.xp("revert", "--run", "run-1")
    assert (code, out.count("Teach it")) == (0, 1)
    code, out, err = store.xp("revert", "--evidence", ROLLOUT[:8])
    assert (code, out) == (1, "")
    assert "already reverted" in err
    store.xp("revert", "HEAD")
    assert store.json("revert", "--evidence", ROLLOUT[:8])["undos"][0]["undone"] == [plan_id]
    for args in (("--run", "never"), ("--evidence", "never")):
        assert store.xp("revert", *args)[0] == 1


@pytest.mark.parametrize("args", [["--run", ""], ["HEAD", "--run", "x"], ["--run", "x", "--evidence", "y"]])
def test_one_kind_of_thing_is_named(store, args):
    assert store.xp("revert", *args)[0] == 2


@pytest.mark.parametrize(("args", "code"), [(["ffffff"], 1), (["main"], 2), ([], 2), (["--", "-x"], 1)])
def test_what_cannot_be_undone(store, args, code):
    assert store.xp("revert", *args)[0] == code
