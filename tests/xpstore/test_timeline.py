from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import timeline
from xpstore.commit import commit

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


def land(loc: Location, name: str) -> tuple[str, str]:
    (landed,) = commit(loc, [make_plan(loc, upsert(name, page(name)))], "main")
    return landed.plan_id, landed.commit


def roles(loc: Location) -> list[str]:
    return [m.role for m in timeline.build(loc, "main").moments]


def test_the_state_of_a_plan_is_the_parity_of_its_reverts(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    plan_id, sha = land(loc, "a")
    states = [timeline.build(loc, "main").is_active(plan_id)]
    for target in (sha, "HEAD", "HEAD", "HEAD"):
        git(loc.repo.place, "revert", "--no-edit", target)
        states.append(timeline.build(loc, "main").is_active(plan_id))
    assert states == [True, False, True, False, True]
    assert roles(loc) == ["plan", "undo", "redo", "undo", "redo"]
    assert timeline.build(loc, "main").last_event(plan_id) == git(loc.repo.place, "rev-parse", "HEAD")
    assert not timeline.build(loc, "main").is_active("0000")


def test_a_hosting_sites_revert_is_known_by_the_quoted_subject(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    plan_id, sha = land(loc, "a")
    git(loc.repo.place, "revert", "--no-edit", sha)
    git(loc.repo.place, "commit", "-q", "--amend", "-m", 'Revert "Teach a" (#12)\n\nReverts o/r#11')
    assert not timeline.build(loc, "main").is_active(plan_id)
    git(loc.repo.place, "revert", "--no-edit", "HEAD")
    git(loc.repo.place, "commit", "-q", "--amend", "-m", 'Reapply "Teach a"')
    assert roles(loc) == ["plan", "undo", "redo"]


def test_a_status_plan_of_a_person_is_no_teaching(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    plan = make_plan(loc, upsert("a", page("a")), learner="person")
    commit(loc, [plan], "main")
    (moment,) = timeline.build(loc, "main").moments
    assert (moment.role, moment.learners) == ("person", frozenset())


def test_a_plan_that_is_picked_again_after_its_revert_is_landed(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    plan_id, sha = land(loc, "a")
    git(loc.repo.place, "revert", "--no-edit", sha)
    git(loc.repo.place, "cherry-pick", sha)
    assert timeline.build(loc, "main").is_active(plan_id)
