"""A page that a merge left broken is shown wherever one would look, and lands nowhere."""

from __future__ import annotations

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from tests.e2e.bad import Xp
from xpstore.commit import commit

MARKED = "<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> x"
QUOTED = (
    "\n```\n<<<<<<< HEAD\n- One.\n=======\n- Two.\n>>>>>>> x\n```\n\nHow to decide\n=======\n\n- By hand.\n"
)


@pytest.fixture
def xp(capsys) -> Xp:
    return Xp(capsys)


@pytest.fixture
def store(tmp_path):
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", page("a", "Look first.")), rollouts=())], "main")
    git(loc.repo.place, "switch", "-qc", "train/x")
    return loc.repo.place


def by_hand(store, text: str, name: str = "a") -> None:
    (store / "experiences" / f"{name}.md").write_text(text)
    git(store, "add", ".")
    git(store, "commit", "-qm", "Resolve")


def test_markers_in_front_matter_are_shown_by_every_verb_and_do_not_land(store, xp):
    by_hand(store, page("a", "Look first.").replace("name: a", MARKED))
    assert "not an experience: a: " in xp(store, "status").out
    assert "not read: a" in xp(store, "context", "look", "--ref", "HEAD").err
    verify = xp(store, "verify")
    assert (verify.code, "experiences/a.md: " in verify.out) == (1, True)
    assert "experiences/a.md" in xp(store, "land", "train/x").error
    assert git(store, "show", "main:experiences/a.md") == page("a", "Look first.").rstrip("\n")


def test_a_merge_that_somebody_committed_undecided_does_not_land(store, xp):
    by_hand(store, page("a", "Ask.") + "<<<<<<< HEAD\n- Look first.\n=======\n- Look later.\n>>>>>>> x\n")
    assert "experiences/a.md: conflict markers are left in it" in xp(store, "verify").out
    assert "conflict markers are left in it" in xp(store, "land", "train/x").error


def test_a_page_about_conflict_markers_merges_lands_and_verifies(store, xp):
    text = page("git", "Never leave a marker.") + QUOTED
    by_hand(store, text, "git")
    git(store, "switch", "-q", "main")
    assert xp(store, "land", "train/x").code == 0
    git(store, "switch", "-qc", "train/y")
    by_hand(store, text.replace("By hand.", "By hand, slowly."), "git")
    git(store, "switch", "-q", "main")
    by_hand(store, text.replace("Never", "NEVER"), "git")
    assert xp(store, "land", "train/y").code == 0
    merged = git(store, "show", "main:experiences/git.md")
    assert merged == text.replace("Never", "NEVER").replace("By hand.", "By hand, slowly.").rstrip("\n")
    assert xp(store, "verify").code == 0
