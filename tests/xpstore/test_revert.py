from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, git, identify, make_plan, make_store, page, texts, upsert
from tests.scripted import Scripted
from xpstore import history, kept, landing, timeline
from xpstore.by_hand import TakeSide
from xpstore.commit import commit
from xpstore.errors import ConflictError, DependantsError, NotFoundError, RefusedError, UsageError
from xpstore.location import Location
from xpstore.plan import RolloutRef
from xpstore.resolver import Claim, Resolution
from xpstore.revert import Wanted, revert

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
        assert (result.undos[0].plan.reverts, result.later) == ((plan_id,), ())
        assert loc.repo.commit(result.undos[0].commit).message.startswith(f'Revert "Teach p{n}"')
        assert not is_active(loc, plan_id)
    assert texts(loc, "main") == {}
    assert git(loc.repo.place, "status", "--porcelain") == ""


def test_twice_is_refused_and_reverting_the_revert_lands_it_again(loc: Location):
    plan_id, _ = land(loc, "a", None, ("One.",))
    undo = revert(loc, plan_id, "main")
    with pytest.raises(RefusedError, match=f"already reverted, by commit {undo.undos[0].commit[:12]}"):
        revert(loc, plan_id, "main")
    redo = revert(loc, undo.undos[0].plan.plan_id, "main")
    assert texts(loc, "main") == {"a": page("a", "One.")}
    assert is_active(loc, plan_id)
    assert redo.undos[0].plan.subject == 'Reapply "Teach a"'
    again = revert(loc, plan_id, "main")
    assert again.undos[0].plan.plan_id != undo.undos[0].plan.plan_id
    assert not is_active(loc, plan_id)


def test_a_plain_git_revert_counts_and_can_be_undone(loc: Location):
    plan_id, sha = land(loc, "a", None, ("One.",))
    git(loc.repo.place, "revert", "--no-edit", sha)
    with pytest.raises(RefusedError):
        revert(loc, plan_id, "main")
    back = revert(loc, "HEAD", "main")
    assert "an undo of plan" in back.undos[0].plan.rationale
    assert texts(loc, "main") == {"a": page("a", "One.")}
    assert is_active(loc, plan_id)


def test_later_statements_stay_and_their_commits_are_listed(loc: Location):
    land(loc, "a", None, ("One.",))
    plan_id, _ = land(loc, "a", ("One.",), ("One.", "Two."))
    _, third = land(loc, "a", ("One.", "Two."), ("One.", "Two.", "Three."))
    land(loc, "b", None, ("Else.",))
    result = revert(loc, plan_id, "main", dry_run=True)
    assert (result.undos[0].commit, [e.commit for e in result.later]) == ("", [third])
    assert texts(loc, "main")["a"] == page("a", "One.", "Two.", "Three.")
    revert(loc, plan_id, "main")
    assert texts(loc, "main")["a"] == page("a", "One.", "Three.")


def test_a_plan_that_a_later_one_builds_on_is_kept_with_it_and_the_later_one_is_named(loc: Location):
    plan_id, _ = land(loc, "a", None, ("Look first.",))
    later_id, later = land(loc, "a", ("Look first.",), ("Look first.\n  - and listen",))
    with pytest.raises(DependantsError, match=later[:9]) as caught:
        revert(loc, plan_id, "main")
    assert caught.value.dependants == ((later_id, later, "Teach a"),)
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
    assert revert(loc, two, "main").undos[0].plan.subject == 'Revert "Teach b"'
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


def land_of(loc: Location, name: str, run: str, rollout: str, *lines: str) -> str:
    before = texts(loc, "main").get(name)
    plan = make_plan(
        loc, upsert(name, page(name, *lines), before), run_id=run, rollouts=(RolloutRef(id=rollout),)
    )
    return commit(loc, [plan], "main")[0].plan_id


def test_a_run_is_undone_newest_first_and_what_others_taught_stays(loc: Location):
    place = loc.repo.place
    one = land_of(loc, "a", "run-1", "aa" * 10, "One.")
    two = land_of(loc, "a", "run-1", "bb" * 10, "One.", "Two.")
    other = land_of(loc, "b", "run-2", "aa" * 10, "Else.")
    three = land_of(loc, "b", "run-1", "cc" * 10, "Else.", "Three.")
    revert(loc, two, "main")
    result = revert(loc, Wanted(run="run-1"), "main")
    assert [undo.plan.reverts for undo in result.undos] == [(three,), (one,)]
    assert result.undos[0].plan.rationale.endswith("It is a plan of run run-1.")
    assert [is_active(loc, plan) for plan in (one, two, other, three)] == [False, False, True, False]
    assert texts(loc, "main") == {"b": page("b", "Else.")}
    assert git(place, "status", "--porcelain") == ""
    with pytest.raises(RefusedError, match="already reverted"):
        revert(loc, Wanted(run="run-1"), "main")
    for undo in reversed(result.undos):
        revert(loc, undo.plan.plan_id, "main")
    assert texts(loc, "main") == {"a": page("a", "One."), "b": page("b", "Else.", "Three.")}


def test_all_that_rests_on_a_rollout_is_undone(loc: Location):
    one = land_of(loc, "a", "run-1", "aa" * 10, "One.")
    land_of(loc, "b", "run-1", "bb" * 10, "Else.")
    two = land_of(loc, "c", "run-2", "aa" * 10, "Two.")
    result = revert(loc, Wanted(evidence="aa" * 10), "main")
    assert {undo.plan.reverts for undo in result.undos} == {(one,), (two,)}
    assert texts(loc, "main") == {"b": page("b", "Else.")}
    with pytest.raises(NotFoundError, match="main has no plan of run never"):
        revert(loc, Wanted(run="never"), "main")


def test_dependants_are_found_through_dependants_and_independent_plans_stay(loc: Location):
    one, _ = land(loc, "a", None, ("Look.",))
    two, _ = land(loc, "a", ("Look.",), ("Look.\n  - and listen",))
    three, _ = land(loc, "a", ("Look.\n  - and listen",), ("Look.\n  - and listen well",))
    land(loc, "b", None, ("Else.",))
    with pytest.raises(DependantsError) as caught:
        revert(loc, one, "main", dry_run=True)
    assert [plan for plan, _, _ in caught.value.dependants] == [two, three]
    result = revert(loc, one, "main", with_dependants=True)
    assert [undo.plan.reverts[0] for undo in result.undos] == [three, two, one]
    assert texts(loc, "main") == {"b": page("b", "Else.")}


def test_a_plan_beside_it_on_the_same_page_is_no_dependant(loc: Location):
    land(loc, "a", None, ("One.",))
    two, _ = land(loc, "a", ("One.",), ("One.", "Two."))
    land(loc, "a", ("One.", "Two."), ("One.", "Two.", "Three."))
    _, four = land(loc, "a", ("One.", "Two.", "Three."), ("One.", "Two.\n  *Support: 2 of 3.*", "Three."))
    with pytest.raises(DependantsError) as caught:
        revert(loc, two, "main")
    assert [commit for _, commit, _ in caught.value.dependants] == [four]
    revert(loc, two, "main", with_dependants=True)
    assert texts(loc, "main") == {"a": page("a", "One.", "Three.")}


def test_what_people_build_on_it_is_not_undone_for_them(loc: Location):
    plan_id, _ = land(loc, "a", None, ("One.",))
    (loc.repo.place / "experiences" / "a.md").write_text(page("a", "One.", "Mine."))
    git(loc.repo.place, "commit", "-qam", "By hand")
    with pytest.raises(ConflictError, match="By hand") as caught:
        revert(loc, plan_id, "main", with_dependants=True)
    (conflict,) = caught.value.conflicts
    assert (conflict.name, conflict.base, conflict.theirs) == ("a", page("a", "One."), None)
    (branch,) = caught.value.kept
    assert caught.value.as_json()["next"] == [f"xp resolve {branch}"]
    assert kept.waiting(loc) == (branch,)
    assert is_active(loc, plan_id)
    landing.land(loc, branch, merge_page=TakeSide("theirs"))
    assert texts(loc, "main") == {}
    assert not is_active(loc, plan_id)
    assert kept.waiting(loc) == ()
    with pytest.raises(RefusedError, match="already reverted"):
        revert(loc, plan_id, "main")


def test_a_resolver_decides_what_people_built_on_what_goes_and_the_undo_names_it(loc: Location):
    land(loc, "a", None, ("Be short.",))
    plan_id, _ = land(loc, "a", ("Be short.",), ("Be short.\n  - now", "Ask why."))
    (loc.repo.place / "experiences" / "a.md").write_text(page("a", "Be short.\n  - later", "Ask why."))
    git(loc.repo.place, "commit", "-qam", "By hand")
    with pytest.raises(ConflictError):  # a rule does not decide what stays of it
        revert(loc, plan_id, "main")
    stays = "- Be short.\n  - later"
    claims = (Claim(1, "superseded", into=stays), Claim(2, "kept"), Claim(3, "merged", into=stays))
    result = revert(loc, plan_id, "main", resolver=Scripted([Resolution(((stays,),), claims)]))
    (undo,) = result.undos
    assert texts(loc, "main") == {"a": page("a", "Be short.\n  - later")}
    assert undo.plan.resolved_by == "scripted/1"


def test_more_pages_than_one_plan_may_delete_are_undone_plan_by_plan(loc: Location):
    for number in range(loc.config.limits.deletes_per_plan + 1):
        land_of(loc, f"p{number}", "run-1", "aa" * 10, "One.")
    revert(loc, Wanted(run="run-1"), "main")
    assert texts(loc, "main") == {}


def test_nothing_named_is_wrong_use(loc: Location):
    with pytest.raises(UsageError, match="nothing was named"):
        revert(loc, Wanted(), "main")
