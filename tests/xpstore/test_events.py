from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import events
from xpstore.commit import commit
from xpstore.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

SQUASH = """Land it

* Teach a

Plan-Id: aa11
Store: s1
Learner: offline/2
Reverts-Plan: cc33

* Teach b

Plan-Id: bb22
Store: s2
Plan-Id: dd44\r
Plan-Digest: ee55\r
"""


def test_a_squash_has_the_trailers_of_each_plan_of_this_store():
    first, last = events.stamps(SQUASH, "s1")
    assert (first.plan_id, first.learner, first.get("Reverts-Plan")) == ("aa11", "offline", "cc33")
    assert (last.plan_id, last.get("Plan-Digest"), last.learner) == ("dd44", "ee55", "")
    assert [s.plan_id for s in events.stamps(SQUASH, "s2")] == ["bb22", "dd44"]


@pytest.mark.parametrize("message", ["Plan-Id: aa11\n", "x\n\n  Plan-Id: aa11\n", "x\n\nPlan-Id: no hex\n"])
def test_what_only_looks_like_a_plan_is_none(message: str):
    assert events.stamps(message, "s") == ()


def test_claims_are_all_that_is_said_of_plans():
    assert [c.plan_id for c in events.claims(SQUASH)] == ["aa11", "bb22", "dd44"]
    above, plan = events.claims("x\n\nLearner: me\nPlan-Id: no hex\nPlan-Id: aa11\nStore: s\n")
    assert (above.plan_id, above.fields) == ("", {"Learner": ("me",), "Plan-Id": ("no hex",)})
    assert (plan.plan_id, plan.fields) == ("aa11", {"Plan-Id": ("aa11",), "Store": ("s",)})
    assert events.claims("Plan-Id: aa11\n\nNothing else\n") == ()


def test_ranges_are_read_and_unknown_ends_are_refused(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    tips = [commit(loc, [make_plan(loc, upsert(n, page(n)))], "main")[0].commit for n in "abc"]
    assert [e.commit for e in events.read(loc, f"{tips[0]}..main")] == tips[:0:-1]
    assert [e.commit for e in events.read(loc, f"{tips[0]}...{tips[1]}")] == [tips[1]]
    assert [e.commit for e in events.read(loc, "main~1..")] == [tips[2]]
    with pytest.raises(NotFoundError):
        events.revisions(loc, "main..nowhere")


def test_an_entry_of_a_commit_without_experiences_is_not_found(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    with pytest.raises(NotFoundError, match="changes no experience"):
        events.entry_of(loc, git(loc.repo.place, "rev-parse", "HEAD"))


def test_user_configuration_changes_nothing(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    for setting in ("log.showRoot=false", "diff.noprefix=true", "diff.renames=false", "log.decorate=full"):
        git(loc.repo.place, "config", *setting.split("="))
    commit(loc, [make_plan(loc, upsert("a", page("a", "One line.", "Two lines.")))], "main")
    git(loc.repo.place, "mv", "experiences/a.md", "experiences/ä b.md")
    git(loc.repo.place, "commit", "-qm", "Rename")
    newest = next(events.read(loc, "main"))
    assert [(c.kind, c.old_name, c.name) for c in newest.changes] == [("R", "a", "ä b")]
    assert newest.names == ("ä b",)
    assert events.entry_of(loc, newest.commit) == newest
