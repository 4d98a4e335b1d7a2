from __future__ import annotations

from tests.builders import ROLLOUT, git, make_plan, make_store, page, upsert
from xpstore import evidence
from xpstore.commit import commit
from xpstore.location import Location
from xpstore.overview import Candidate, overview
from xpstore.sync import sync


def test_an_empty_store(tmp_path):
    loc = make_store(tmp_path / "s")
    now = overview(loc)
    assert (now.branch, now.statuses, now.candidates, now.rollouts, now.conflicts) == ("main", {}, (), 0, ())
    assert now.commit == git(tmp_path / "s", "rev-parse", "main")


def test_counts_of_everything(tmp_path):
    loc = make_store(tmp_path / "s")
    draft = page("b").replace("name: b\n", "name: b\nstatus: draft\n")
    commit(loc, [make_plan(loc, upsert("a", page("a")), upsert("b", draft))], "main")
    commit(loc, [make_plan(loc, upsert("c", page("c")))], "train/x")
    waiting = evidence.ledger_file("e" * 20, {"event": "received"})
    evidence.write(loc, [waiting], "Receive")
    commit(loc, [make_plan(loc, upsert("d", page("d")))], "xp/conflict/1234")
    git(tmp_path / "s", "branch", "xp/conflict/5678")  # landed
    now = overview(loc)
    assert list(now.statuses.items()) == [("draft", 1), ("production", 1)]
    assert now.candidates == (Candidate("train/x", 1),)
    assert (now.rollouts, now.open_rollouts) == (2, 1)
    assert ROLLOUT != "e" * 20
    assert now.conflicts == ("xp/conflict/1234",)


def test_the_checked_out_branch_is_counted_and_a_detached_head_too(tmp_path):
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "train/x")
    git(tmp_path / "s", "checkout", "-q", "train/x")
    assert overview(loc).statuses == {"production": 1}
    git(tmp_path / "s", "checkout", "-q", "--detach", "main")
    now = overview(loc)
    assert (now.branch, now.statuses) == ("", {})


def test_an_unborn_branch_shows_main(tmp_path):
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    git(tmp_path / "s", "symbolic-ref", "HEAD", "refs/heads/new")
    now = overview(Location.find(tmp_path / "s"))
    assert (now.branch, now.statuses) == ("new", {"production": 1})


def test_what_no_remote_has_is_only_local(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "train/x")
    git(tmp_path / "s", "remote", "add", "origin", str(tmp_path / "shared.git"))
    assert overview(loc).only_local == ("main", "xp/evidence", "train/x")
    sync(Location.find(tmp_path / "s"))
    assert overview(Location.find(tmp_path / "s")).only_local == ("train/x",)
