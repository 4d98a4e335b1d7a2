from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, git, make_plan, make_store, page, texts, upsert
from xpstore import candidate, reparent
from xpstore.commit import commit
from xpstore.errors import ConflictError, RefusedError
from xpstore.landing import land
from xpstore.record import plan_from
from xpstore.trailers import parse_trailers
from xpstore.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location
    from xpstore.plan import PolicyPlanItem

BRANCH = "train/x"
ONE, TWO, THREE = "Look before you leap.", "Ask for the order number.", "Say when the money comes."


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    """Return a store with a page on main."""
    found = make_store(tmp_path / "s")
    teach(found, "main", upsert("old", page("old", ONE)))
    return found


def teach(loc: Location, branch: str, *items: PolicyPlanItem) -> str:
    plan = make_plan(loc, *items, branch=branch, rollouts=(), run_id=branch)
    return commit(loc, [plan], branch)[0].commit


def built(loc: Location, branch: str = BRANCH) -> reparent.Built:
    asked = candidate.request(loc, branch)
    return reparent.build(loc, asked, candidate.where_to(loc, asked))


def by_hand(loc: Location, branch: str, path: str, data: bytes | None) -> str:
    here = loc.repo.place
    git(here, "switch", "-q", branch)
    if data is None:
        (here / path).unlink()
    else:
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_bytes(data)
    git(here, "add", "--all", ".")
    git(here, "commit", "-qm", f"Write {path}")
    git(here, "switch", "-q", "main")
    return loc.repo.resolve(branch)


def states(loc: Location) -> set[str]:
    findings = verify(loc, "main")
    assert not [problem for finding in findings for problem in finding.problems]
    return {finding.state for finding in findings}


def test_what_is_up_to_date_is_not_made_again(loc: Location) -> None:
    new = teach(loc, BRANCH, upsert("a", page("a")))
    assert built(loc) == reparent.Built(new, "fast-forward")
    git(loc.repo.place, "branch", "train/same", "main")
    assert built(loc, "train/same") == reparent.Built(loc.repo.resolve("main"), "fast-forward")


def test_a_plan_whose_files_are_as_it_found_them_keeps_all_that_it_says(loc: Location) -> None:
    before = teach(
        loc, BRANCH, upsert("old", page("old", ONE, TWO), page("old", ONE)), upsert("a", page("a"))
    )
    plan = plan_from(loc, before)
    teach(loc, "main", upsert("c", page("c")))
    assert built(loc).records == ()
    land(loc, BRANCH)
    old, new = (loc.repo.commit(at) for at in (before, loc.repo.resolve("main")))
    assert (new.author, new.message) == (old.author, old.message)
    assert new.parents == (loc.repo.resolve("main~1"),)
    assert plan_from(loc, new.id) == plan
    assert states(loc) == {"intact", "carried"}


def test_a_page_that_both_changed_is_merged_and_has_a_second_record(loc: Location) -> None:
    before = teach(loc, BRANCH, upsert("old", page("old", ONE, TWO), page("old", ONE)))
    teach(loc, "main", upsert("old", page("old", THREE, ONE), page("old", ONE)))
    result = land(loc, BRANCH).candidate
    assert (result.how, [m.name for m in result.merges]) == ("re-parented", ["old"])
    assert texts(loc, "main")["old"] == page("old", THREE, ONE, TWO)
    was, is_ = (parse_trailers(loc.repo.commit(at).message) for at in (before, result.new))
    assert was.pop("Plan-Digest") != is_.pop("Plan-Digest")
    assert was == is_
    assert states(loc) == {"intact", "carried"}
    (item,) = plan_from(loc, result.new).items
    assert (item.before_content, item.after_content) == (
        page("old", THREE, ONE),
        page("old", THREE, ONE, TWO),
    )


def test_commits_that_build_on_each_other_are_merged_one_by_one(loc: Location) -> None:
    teach(loc, BRANCH, upsert("old", page("old", ONE, TWO), page("old", ONE)))
    by_hand(loc, BRANCH, "experiences/old.md", page("old", ONE, "Ask for the number.").encode())
    teach(loc, "main", upsert("old", page("old", THREE, ONE), page("old", ONE)))
    assert len(built(loc).commits) == 2
    land(loc, BRANCH)
    assert texts(loc, "main")["old"] == page("old", THREE, ONE, "Ask for the number.")
    assert git(loc.repo.place, "show", "-s", "--format=%an", "main") == "Pat"
    assert states(loc) == {"intact", "carried"}


def test_a_page_that_both_made_has_what_both_say(loc: Location) -> None:
    teach(loc, BRANCH, upsert("new", page("new", TWO)))
    teach(loc, "main", upsert("new", page("new", ONE)))
    land(loc, BRANCH)
    assert texts(loc, "main")["new"] == page("new", ONE, TWO)


def test_what_main_has_already_is_left_out(loc: Location) -> None:
    here = loc.repo.place
    first = teach(loc, BRANCH, upsert("a", page("a")))
    teach(loc, BRANCH, upsert("b", page("b")))
    teach(loc, "main", upsert("c", page("c")))
    git(here, "cherry-pick", first)
    # landed and undone since: it is not brought back
    git(here, "revert", "--no-edit", "HEAD")
    assert built(loc).left_out == (first,)
    result = land(loc, BRANCH).candidate
    assert [entry.subject for entry in result.entries] == ["Teach b"]
    assert sorted(texts(loc, "main")) == ["b", "c", "old"]


def test_of_a_plan_that_main_has_in_part_the_rest_lands(loc: Location) -> None:
    teach(loc, BRANCH, upsert("a", page("a")), upsert("b", page("b")))
    by_hand(loc, "main", "experiences/a.md", page("a").encode())
    assert len(built(loc).records) == 1
    new = land(loc, BRANCH).candidate.new
    assert [item.target_experience_name for item in plan_from(loc, new).items] == ["b"]
    assert states(loc) == {"carried", "intact"}


def test_a_branch_that_main_has_as_a_squash_has_nothing_left(loc: Location) -> None:
    for name in ("a", "b"):
        teach(loc, BRANCH, upsert(name, page(name)))
    teach(loc, "main", upsert("c", page("c")))
    git(loc.repo.place, "merge", "--squash", "-q", BRANCH)
    git(loc.repo.place, "commit", "-q", "-m", "Squashed by a hosting site")
    assert built(loc).tip == loc.repo.resolve("main")
    assert land(loc, BRANCH).state == "nothing"
    with pytest.raises(RefusedError, match=r"main has plan .* already"):
        land(loc, BRANCH, merge=True)


@pytest.mark.parametrize("side", ["main", BRANCH])
def test_a_page_deleted_on_one_side_and_changed_on_the_other(loc: Location, side: str) -> None:
    other = BRANCH if side == "main" else "main"
    git(loc.repo.place, "branch", BRANCH, "main")
    teach(loc, side, delete("old", page("old", ONE)))
    teach(loc, other, upsert("old", page("old", ONE, TWO), page("old", ONE)))
    with pytest.raises(ConflictError, match=r"old \(deleted on one side\)") as caught:
        built(loc)
    assert caught.value.conflicts[0].base == page("old", ONE)


def test_rules_that_exclude_each_other_name_the_section(loc: Location) -> None:
    teach(loc, BRANCH, upsert("old", page("old", "IF it is late DO call `refund`."), page("old", ONE)))
    teach(loc, "main", upsert("old", page("old", "IF it is late DO NOT call `refund`."), page("old", ONE)))
    with pytest.raises(ConflictError, match=r"old \(Approach\) \([0-9a-f]{9} Teach old\)"):
        built(loc)


def test_other_files_of_both_sides_are_a_conflict(loc: Location) -> None:
    for branch, data in ((BRANCH, b"\xff1"), ("main", b"\xff2")):
        if branch == BRANCH:
            git(loc.repo.place, "branch", branch, "main")
        by_hand(loc, branch, "experiences/notes/picture", data)
    with pytest.raises(ConflictError, match="notes/picture"):
        built(loc)


def test_what_is_outside_of_the_experiences_and_links_are_refused(loc: Location) -> None:
    git(loc.repo.place, "branch", BRANCH, "main")
    by_hand(loc, BRANCH, "app.py", b"print()\n")
    teach(loc, "main", upsert("c", page("c")))
    with pytest.raises(RefusedError, match=r"outside of experiences/: app\.py"):
        built(loc)
    git(loc.repo.place, "branch", "train/y", "main~1")
    (loc.repo.place / "experiences" / "link").symlink_to("/etc/passwd")
    git(loc.repo.place, "switch", "-q", "train/y")
    git(loc.repo.place, "add", ".")
    git(loc.repo.place, "commit", "-qm", "Link")
    with pytest.raises(RefusedError, match="symbolic link"):
        built(loc, "train/y")


def test_a_branch_with_merges_lands_as_a_merge(loc: Location) -> None:
    teach(loc, BRANCH, upsert("a", page("a")))
    teach(loc, "main", upsert("c", page("c")))
    git(loc.repo.place, "switch", "-q", BRANCH)
    git(loc.repo.place, "merge", "-q", "-m", "Bring it up to date", "main")
    git(loc.repo.place, "switch", "-q", "main")
    teach(loc, "main", upsert("d", page("d")))
    with pytest.raises(RefusedError, match="has merges in it") as caught:
        land(loc, BRANCH)
    assert "--merge" in caught.value.hint
    assert land(loc, BRANCH, merge=True).candidate.how == "merge"
    assert sorted(texts(loc, "main")) == ["a", "c", "d", "old"]
    assert git(loc.repo.place, "log", "--first-parent", "--format=%s", "-2", "main").split("\n") == [
        f"Merge branch '{BRANCH}'",
        "Teach d",
    ]


def test_pages_are_merged_in_a_merge_commit_too(loc: Location) -> None:
    teach(loc, BRANCH, upsert("old", page("old", ONE, TWO), page("old", ONE)))
    teach(loc, "main", upsert("old", page("old", THREE, ONE), page("old", ONE)))
    assert land(loc, BRANCH, merge=True).candidate.merged == ("old",)
    assert texts(loc, "main")["old"] == page("old", THREE, ONE, TWO)
    assert states(loc) == {"intact"}


def test_a_store_whose_folder_main_has_moved(tmp_path: Path) -> None:
    here = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", str(here))
    loc = make_store(here / "agent")
    teach(loc, "main", upsert("old", page("old")))
    teach(loc, BRANCH, upsert("a", page("a")))
    git(here, "mv", "agent", "brain")
    git(here, "commit", "-qm", "Move the store")
    moved = type(loc).find(here / "brain")
    assert land(moved, BRANCH).candidate.how == "re-parented"
    assert sorted(p.name for p in (here / "brain" / "experiences").iterdir()) == ["a.md", "old.md"]
    assert git(here, "status", "--short") == ""


def rename(loc: Location, old: str, new: str) -> None:
    """Give a page another name, as a person does: its file, and the name that it says it has."""
    file = loc.repo.place / "experiences" / f"{old}.md"
    text = file.read_text().replace(f"name: {old}", f"name: {new}")
    file.rename(file.with_name(f"{new}.md"))
    file.with_name(f"{new}.md").write_text(text)
    git(loc.repo.place, "add", "-A")
    git(loc.repo.place, "commit", "-qm", f"Call {old} {new}")


def test_what_was_learned_about_a_page_follows_it_to_its_new_name(loc: Location) -> None:
    before = texts(loc, "main")["old"]
    teach(loc, BRANCH, upsert("old", f"{before}- Learned.\n", before))
    again = f"{before}- Learned.\n"
    teach(loc, BRANCH, upsert("old", f"{again}- Learned more.\n", again))
    rename(loc, "old", "new")
    assert land(loc, BRANCH).candidate.merged == ("new",)
    now = texts(loc, "main")
    assert now["new"] == before.replace("name: old", "name: new") + "- Learned.\n- Learned more.\n"
    assert "old" not in now
    assert {f.problems for f in verify(loc, "main") if f.plan_id} == {()}
    plan = plan_from(loc, loc.repo.resolve("main"))
    assert [(i.target_experience_name, i.after_content) for i in plan.items] == [("new", now["new"])]
    assert f"Plan-Id: {plan.plan_id}\n" in git(loc.repo.place, "log", "-1", "main")


def test_a_page_that_was_renamed_and_comes_back_is_another_one(loc: Location) -> None:
    before = texts(loc, "main")["old"]
    teach(loc, BRANCH, upsert("old", f"{before}- Learned.\n", before))
    rename(loc, "old", "new")
    teach(loc, "main", upsert("old", page("old", "Something else entirely, and at length.")))
    assert land(loc, BRANCH).state == "landed"
    assert "- Learned." in texts(loc, "main")["old"]
    assert "- Learned." not in texts(loc, "main")["new"]


def test_a_deletion_follows_the_page_only_where_it_is_as_it_was(loc: Location) -> None:
    teach(loc, BRANCH, delete("old", texts(loc, "main")["old"]))
    rename(loc, "old", "new")
    with pytest.raises(ConflictError, match=r"new \(deleted on one side\)"):
        land(loc, BRANCH)
