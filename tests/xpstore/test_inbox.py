from __future__ import annotations

import pytest

from tests.builders import git, make_store
from tests.lessons import received, rollout_of, teach
from xpstore import evidence, inbox
from xpstore.alive import Presence
from xpstore.errors import NotFoundError, UsageError
from xpstore.inbox import BRANCH, TOKEN, drop, entries, find

NOTHING = {"event": "nothing", "learner": "double/1", "why": "silence"}


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "s")


def receive(loc, said, *events):
    rollout, _, files = received(rollout_of(said))
    evidence.write(loc, [*files, *(evidence.ledger_file(rollout, e) for e in events)], "Receive")
    return rollout


def mark(token, branch="train/live"):
    return {"event": "received", "case": "c1", BRANCH: branch, TOKEN: token}


def test_nothing_is_open_in_an_empty_store(loc):
    assert entries(loc) == []


def test_open_is_what_nobody_is_done_with(loc):
    first, _ = receive(loc, "one"), receive(loc, "two", NOTHING)
    [entry] = entries(loc)
    assert (entry.rollout, entry.progress, entry.branches, entry.holder) == (first, "analysed", (), "")
    assert entry.case


def test_what_was_learned_is_open_again_when_its_branch_is_deleted(loc):
    lesson = teach(loc, "refund", None, ("Ask first.",), branch="train/x")
    assert entries(loc) == []
    git(loc.repo.place, "branch", "-qD", "train/x")
    [entry] = entries(loc)
    assert (entry.rollout, entry.progress) == (lesson.rollout, "planned")


def test_who_has_received_it_is_known(loc):
    common = loc.repo.common_dir
    living, dead = Presence(common), Presence(common)
    dead.end(is_done=False)
    other = "ab" * 10
    for said, tokens in {"a": (living, dead), "b": (dead,), "c": ()}.items():
        receive(loc, said, mark(other), *(mark(p.token, "main") for p in tokens))
    found = {e.holder: e.branches for e in entries(loc)}
    assert found == {
        "alive": ("main", "train/live"),
        "dead": ("main", "train/live"),
        "elsewhere": ("train/live",),
    }
    events = next(e for e in (evidence.ledger(loc, e.rollout) for e in entries(loc)) if len(e) == 5)
    assert inbox.holder(loc, inbox.tokens(events), but=living.token) == "dead"
    living.end(is_done=True)


def test_what_is_dropped_is_not_open_any_more(loc):
    one, two, done = receive(loc, "one"), receive(loc, "two"), receive(loc, "done", NOTHING)
    assert drop(loc, [one, done], "it is a test", dry_run=True) == [one]
    assert len(entries(loc)) == 2
    assert drop(loc, [one, done], " it is a test ") == [one]
    assert [entry.rollout for entry in entries(loc)] == [two]
    assert {"event": "dropped", "why": "it is a test"} in evidence.ledger(loc, one)
    before = evidence.tip(loc)
    assert drop(loc, [one, done], "again") == []
    assert evidence.tip(loc) == before


def test_dropping_needs_a_reason_and_a_rollout(loc):
    one = receive(loc, "one")
    with pytest.raises(UsageError, match="for a reason"):
        drop(loc, [one], "  ")
    with pytest.raises(NotFoundError, match="no rollout ffff"):
        drop(loc, ["ffff"], "gone")


def test_ids_may_be_shortened(loc):
    one, two = receive(loc, "one"), receive(loc, "two")
    assert find(loc, [two[:8], one, two]) == [two, one]
    with pytest.raises(NotFoundError, match="no rollout 'zz'"):
        find(loc, ["zz"])
    with pytest.raises(NotFoundError, match="short for 2 rollouts"):
        find(loc, [""])


def test_a_case_has_a_name_or_an_id(loc):
    lesson = teach(loc, "refund", None, ("Ask first.",), case="where is it")
    assert inbox.case_name(loc, lesson.case) == "where is it"
    assert inbox.case_name(loc, "aa11") == "aa11"
    assert inbox.case_name(loc, "") == ""
