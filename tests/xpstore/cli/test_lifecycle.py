from __future__ import annotations

import pytest

from xpstore.location import Location
from xpstore.snapshot import snapshot


def status_of(store, name: str, ref: str = "main") -> str:
    return snapshot(Location.find(store.path), ref).by_name[name].status


def test_several_names_are_one_commit(store):
    before = store.git("rev-parse", "main")
    answer = store.json("deprecate", "refund-item", "退票")
    assert (answer["branch"], answer["already"]) == ("main", [])
    assert store.git("rev-parse", "main") == answer["commit"]
    assert store.git("rev-parse", "main~1") == before


def test_output_for_people_and_dry_runs(store):
    assert store.xp("archive", "-n", "refund-item")[1] == "Would commit on main: Archive refund-item\n"
    assert status_of(store, "refund-item") == "production"
    code, out, err = store.xp("archive", "refund-item", "old-refund")
    assert code == 0
    assert out == f"[main {store.git('rev-parse', 'main')[:9]}] Archive refund-item\n"
    assert err == "old-refund is archived already\n"


def test_another_branch_can_be_named(store):
    store.git("branch", "train/x")
    assert store.json("deprecate", "refund-item", "--branch", "train/x")["branch"] == "train/x"
    assert status_of(store, "refund-item") == "production"
    assert status_of(store, "refund-item", "train/x") == "deprecated"


def test_a_detached_head_needs_a_branch(store):
    store.git("checkout", "-q", "--detach")
    code, _, err = store.xp("archive", "refund-item")
    assert code == 2
    assert "--branch" in err


@pytest.mark.parametrize(
    ("args", "code"), [(["refund-itm"], 1), (["old-refund"], 1), ([], 2), (["--", "-x"], 1)]
)
def test_what_cannot_be_archived(store, args, code):
    assert store.xp("archive", *args)[0] == code


@pytest.mark.parametrize(
    "branch", ["heads/main", "@", "HEAD", "refs/heads/heads/main", "v1", "nowhere", "main~1"]
)
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_what_is_no_branch_is_wrong_use_and_makes_none(store, branch, more):
    store.git("tag", "v1")
    assert store.xp("deprecate", "refund-item", "--branch", branch, *more)[0] == 2
    assert store.git("for-each-ref", "--format=%(refname)", "refs/heads/") == "refs/heads/main"
