from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, git, identify, make_plan, make_store, page, texts, upsert
from xpstore import history, timeline
from xpstore.commit import commit
from xpstore.errors import ConflictError, NotFoundError, RefusedError, UsageError
from xpstore.location import Location
from xpstore.revert import revert

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def land(
    loc: Location, name: str, before: tuple[str, ...] | None, after: tuple[str, ...], branch: str = "main"
) -> tuple[str, str]:
    old = None if before is None else page(name, *before)
    plan = make_plan(loc, upsert(name, page(name, *after), old), branch=branch)
    (landed,) = commit(loc, [plan], branch)
    return landed.plan_id, landed.commit


def is_active(loc: Location, plan_id: str, ref: str = "main") -> bool:
    return timeline.build(loc, ref).is_active(plan_id)


def test_a_plan_is_undone_by_id_abbreviation_or_commit(loc: Location):
    for n, how in enumerate(["id", "short", "commit"]):
        plan_id, sha = land(loc, f"p{n}", None, ("One.",))
        target = {"id": plan_id, "short": plan_id[:8], "commit": sha}[how]
        result = revert(loc, target, "main")
        assert (result.plan.reverts, result.later) == ((plan_id,), ())
        assert loc.repo.commit(result.commit).message.startswith(f'Revert "Teach p{n}"')
        assert not is_active(loc, plan_id)
    assert texts(loc, "main") == {}
    assert git(loc.repo.place, "status", "--porcelain") == ""


def test_twice_is_refused_and_reverting_the_revert_lands_it_again(loc: Location):
    plan_id, _ = land(loc, "a", None, ("One.",))
    undo = revert(loc, plan_id, "main")
    with pytest.raises(RefusedError, match=f"undone already, by commit {undo.commit[:12]}"):
        revert(loc, plan_id, "main")
    redo = revert(loc, undo.plan.plan_id, "main")
    assert texts(loc, "main") == {"a": page("a", "One.")}
    assert is_active(loc, plan_id)
    assert redo.plan.subject == 'Reapply "Teach a"'
    again = revert(loc, plan_id, "main")
    assert again.plan.plan_id != undo.plan.plan_id
    assert not is_active(loc, plan_id)


def test_a_plain_git_revert_counts_and_can_be_undone(loc: Location):
    plan_id, sha = land(loc, "a", None, ("One.",))
    git(loc.repo.place, "revert", "--no-edit", sha)
    with pytest.raises(RefusedError):
        revert(loc, plan_id, "main")
    revert(loc, "HEAD", "main")
    assert texts(loc, "main") == {"a": page("a", "One.")}
    assert is_active(loc, plan_id)


def test_later_statements_stay_and_their_commits_are_listed(loc: Location):
    land(loc, "a", None, ("One.",))
    plan_id, _ = land(loc, "a", ("One.",), ("One.", "Two."))
    _, third = land(loc, "a", ("One.", "Two."), ("One.", "Two.", "Three."))
    land(loc, "b", None, ("Else.",))
    result = revert(loc, plan_id, "main", dry_run=True)
    assert (result.commit, [e.commit for e in result.later]) == ("", [third])
    assert texts(loc, "main")["a"] == page("a", "One.", "Two.", "Three.")
    revert(loc, plan_id, "main")
    assert texts(loc, "main")["a"] == page("a", "One.", "Three.")


def test_a_true_overlap_is_a_conflict_that_names_the_later_plan(loc: Location):
    plan_id, _ = land(loc, "a", None, ("Look first.",))
    _, later = land(loc, "a", ("Look first.",), ("Look first.\n  - and listen",))
    with pytest.raises(ConflictError, match=later[:12]) as caught:
        revert(loc, plan_id, "main")
    (conflict,) = caught.value.conflicts
    assert (conflict.name, conflict.base, conflict.theirs) == ("a", page("a", "Look first."), None)
    revert(loc, later, "main")
    revert(loc, plan_id, "main")
    assert texts(loc, "main") == {}


def test_a_renamed_page_is_followed_in_a_code_repository(tmp_path: Path):
    place = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", "code")
    identify(place)
    (place / "app.py").write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Code")
    loc = make_store(place / "agent")
    land(loc, "a", None, ("One lesson.", "Two lessons."))
    plan_id, _ = land(
        loc, "a", ("One lesson.", "Two lessons."), ("One lesson.", "Two lessons.", "Three lessons.")
    )
    git(place, "mv", "agent/experiences/a.md", "agent/experiences/b.md")
    (place / "app.py").write_text("2\n")
    git(place, "commit", "-qam", "Rename and code")
    git(place, "mv", "agent", "lib")
    git(place, "commit", "-qm", "Move")
    moved = Location.find(place / "lib")
    revert(moved, plan_id, "main")
    assert texts(moved, "main") == {"b": page("a", "One lesson.", "Two lessons.")}
    assert (place / "app.py").read_text() == "2\n"


def test_a_deletion_is_undone(loc: Location):
    land(loc, "a", None, ("One.",))
    (landed,) = commit(loc, [make_plan(loc, delete("a", page("a", "One.")))], "main")
    revert(loc, landed.plan_id, "main")
    assert texts(loc, "main") == {"a": page("a", "One.")}


def test_what_is_already_gone_is_refused(loc: Location):
    plan_id, _ = land(loc, "a", None, ("One.",))
    git(loc.repo.place, "rm", "-q", "experiences/a.md")
    git(loc.repo.place, "commit", "-qm", "Away")
    with pytest.raises(RefusedError, match="nothing is left"):
        revert(loc, plan_id, "main")


def test_what_is_no_plan_or_elsewhere_is_not_reverted(loc: Location):
    plan_id, _ = land(loc, "a", None, ("One.",), branch="train/1")
    with pytest.raises(NotFoundError, match="not in the history of main"):
        revert(loc, plan_id, "main")
    git(loc.repo.place, "merge", "-q", "train/1")
    (loc.repo.place / "experiences" / "a.md").write_text(page("a", "Mine."))
    git(loc.repo.place, "commit", "-qam", "By hand")
    with pytest.raises(UsageError, match="no plan"):
        revert(loc, "HEAD", "main")


def test_one_plan_of_a_squash_is_undone_alone(loc: Location):
    place = loc.repo.place
    one, _ = land(loc, "a", None, ("One.",), branch="train/1")
    two, _ = land(loc, "b", None, ("Two.",), branch="train/1")
    git(place, "merge", "-q", "--squash", "train/1")
    git(place, "commit", "-qm", "Land\n\n" + git(place, "log", "--format=%B", "main..train/1"))
    git(place, "branch", "-qD", "train/1")
    assert revert(loc, two, "main").plan.subject == 'Revert "Teach b"'
    assert texts(loc, "main") == {"a": page("a", "One.")}
    assert (is_active(loc, one), is_active(loc, two)) == (True, False)
    squash = next(e for e in history.log(loc, "main") if len(e.plan_ids) > 1)
    revert(loc, squash.commit, "main")
    assert texts(loc, "main") == {}


def test_a_plan_that_came_with_a_merge_is_undone(loc: Location):
    place = loc.repo.place
    one, _ = land(loc, "a", None, ("One.",), branch="train/1")
    land(loc, "b", None, ("Two.",), branch="train/1")
    git(place, "merge", "-q", "--no-ff", "-m", "Merge", "train/1")
    assert revert(loc, one, "main").later == ()
    assert texts(loc, "main") == {"b": page("b", "Two.")}
