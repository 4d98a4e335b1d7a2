from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, git, make_plan, make_store, page, upsert
from xpstore.commit import commit
from xpstore.hashing import content_id
from xpstore.plan import RolloutRef
from xpstore.revert import revert
from xpstore.undone import learner_statements, undone_statements

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

R1, R2, R3 = content_id(1), content_id(2), content_id(3)


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def land(
    loc: Location, name: str, before: tuple[str, ...] | None, after: tuple[str, ...] | None, **fields: object
):
    """Land a plan that brings a page from some lines to others; return its commit."""
    old = None if before is None else page(name, *before)
    item = delete(name, old) if after is None else upsert(name, page(name, *after), old)
    rollout = str(fields.pop("rollout", R1))
    branch = str(fields.pop("branch", "main"))
    plan = make_plan(loc, item, rollouts=(RolloutRef(id=rollout),), branch=branch, **fields)
    return commit(loc, [plan], branch)[0].commit


def write(loc: Location, name: str, *lines: str, message: str = "By hand") -> None:
    file = loc.repo.place / loc.in_tree(f"experiences/{name}.md")
    file.parent.mkdir(exist_ok=True)
    file.write_text(page(name, *lines))
    git(loc.repo.place, "add", str(file))
    git(loc.repo.place, "commit", "-qm", message)


def undone(loc: Location, ref: str = "main") -> list[tuple[str, str, frozenset[str]]]:
    return [(u.experience, u.key, u.rollouts) for u in undone_statements(loc, ref)]


def test_a_learner_owns_what_its_plans_added_in_any_version(loc: Location):
    land(loc, "a", None, ("One.",))
    write(loc, "a", "One.", "Mine.")
    land(loc, "a", ("One.", "Mine."), ("One.", "Mine.", "Two."), learner="offline/2")
    land(loc, "a", ("One.", "Mine.", "Two."), ("One.", "Mine.", "Two.", "Model."), learner="gpt-x")
    assert learner_statements(loc, "main", "offline/7") == {"a": {"One.", "Two."}}
    assert learner_statements(loc, "main", "gpt-x") == {"a": {"Model."}}
    assert undone(loc) == []


def test_a_plain_revert_undoes_and_its_revert_brings_back(loc: Location):
    place = loc.repo.place
    sha = land(loc, "a", None, ("One.",))
    git(place, "revert", "--no-edit", sha)
    assert undone(loc) == [("a", "One.", {R1})]
    git(place, "revert", "--no-edit", "HEAD")
    assert undone(loc) == []
    assert learner_statements(loc, "main", "offline") == {"a": {"One."}}
    git(place, "revert", "--no-edit", "HEAD")
    assert undone(loc) == [("a", "One.", {R1})]


def test_all_plans_that_added_a_statement_count(loc: Location):
    git(loc.repo.place, "revert", "--no-edit", land(loc, "a", None, ("One.",)))
    sha = land(loc, "a", None, ("One.",), rollout=R2, again=1)
    assert undone(loc) == []
    git(loc.repo.place, "revert", "--no-edit", sha)
    assert undone(loc) == [("a", "One.", {R1, R2})]


def test_what_a_person_deletes_is_undone_the_whole_file_too(loc: Location):
    place = loc.repo.place
    land(loc, "a", None, ("One.", "Two."))
    write(loc, "a", "One.")
    assert undone(loc) == [("a", "Two.", {R1})]
    git(place, "rm", "-q", "experiences/a.md")
    git(place, "commit", "-qm", "Away")
    assert undone(loc) == [("a", "One.", {R1}), ("a", "Two.", {R1})]


OLD = "One.\n  *Support: 3 of 4.*"
NEW = "One.\n  *Support: 7 of 9.*"


@pytest.mark.parametrize("way", ["rm", "revert", "xp revert"])
def test_a_plan_that_gave_a_statement_new_figures_counts(loc: Location, way: str):
    place = loc.repo.place
    first = land(loc, "a", None, (OLD,))
    second = land(loc, "a", (OLD,), (NEW,), rollout=R2)
    assert undone(loc) == []
    if way == "rm":
        git(place, "rm", "-q", "experiences/a.md")
        git(place, "commit", "-qm", "Away")
    elif way == "revert":
        git(place, "revert", "--no-edit", second, first)
    else:
        for sha in (second, first):
            revert(loc, sha, "main")
    assert undone(loc) == [("a", "One.", {R1, R2})]


def test_figures_that_a_merge_or_a_squash_brought_count(loc: Location):
    place = loc.repo.place
    land(loc, "a", None, (OLD,), branch="train/1")
    land(loc, "a", (OLD,), (NEW,), branch="train/1", rollout=R2)
    git(place, "merge", "-q", "--no-ff", "-m", "Merge train/1", "train/1")
    land(loc, "a", (NEW,), (OLD,), branch="train/2", rollout=R3)
    git(place, "merge", "-q", "--no-ff", "-m", "Merge train/2", "train/2")
    git(place, "revert", "--no-edit", "-m", "1", "HEAD")
    git(place, "revert", "--no-edit", "-m", "1", "HEAD~2")
    assert undone(loc) == [("a", "One.", {R1, R2, R3})]


def test_figures_by_hand_are_no_evidence(loc: Location):
    land(loc, "a", None, (OLD,))
    write(loc, "a", NEW)
    git(loc.repo.place, "rm", "-q", "experiences/a.md")
    git(loc.repo.place, "commit", "-qm", "Away")
    assert undone(loc) == [("a", "One.", {R1})]


def test_a_rewording_by_hand_undoes_the_old_words(loc: Location):
    land(loc, "a", None, ("Look first.",))
    write(loc, "a", "Look twice.")
    assert undone(loc) == [("a", "Look first.", {R1})]
    assert learner_statements(loc, "main", "offline") == {"a": {"Look first."}}


def test_what_a_learner_takes_back_is_not_undone(loc: Location):
    land(loc, "a", None, ("Old.",))
    sha = land(loc, "a", ("Old.",), ("New.",), rollout=R2)
    assert undone(loc) == []
    git(loc.repo.place, "revert", "--no-edit", sha)
    assert undone(loc) == [("a", "New.", {R2})]
    git(loc.repo.place, "revert", "--no-edit", "HEAD")
    assert undone(loc) == []


def test_renames_keep_authors_and_what_was_undone(loc: Location):
    place = loc.repo.place
    land(loc, "a", None, ("One lesson.", "Two lessons.", "Three lessons."))
    write(loc, "a", "One lesson.", "Three lessons.")
    git(place, "mv", "experiences/a.md", "experiences/b.md")
    git(place, "commit", "-qm", "Rename")
    assert learner_statements(loc, "main", "offline")["b"] >= {"One lesson.", "Three lessons."}
    assert undone(loc) == [("a", "Two lessons.", {R1}), ("b", "Two lessons.", {R1})]


def test_a_revert_of_a_commit_that_was_rebased_away_is_known_by_its_plan(loc: Location):
    place = loc.repo.place
    sha = land(loc, "a", None, ("One.",), branch="train/1")
    write(loc, "b", "Other.")
    git(place, "checkout", "-q", "train/1")
    git(place, "rebase", "-q", "main")
    git(place, "rm", "-q", "experiences/a.md")
    git(place, "commit", "-qm", f'Revert "x"\n\nThis reverts commit {sha}.')
    assert undone(loc, "train/1") == [("a", "One.", {R1})]


def test_a_merge_brings_its_authors(loc: Location):
    place = loc.repo.place
    land(loc, "a", None, ("One.",), branch="train/1")
    land(loc, "a", ("One.",), ("Two.",), branch="train/1", rollout=R2)
    write(loc, "b", "Other.")
    git(place, "merge", "-q", "--no-ff", "-m", "Merge train/1", "train/1")
    assert learner_statements(loc, "main", "offline") == {"a": {"Two."}}
    git(place, "revert", "--no-edit", "-m", "1", "HEAD")
    assert undone(loc) == [("a", "Two.", {R2})]


def test_a_squash_counts_for_all_its_plans(loc: Location):
    place = loc.repo.place
    land(loc, "a", None, ("One.",), branch="train/1")
    land(loc, "b", None, ("Two.",), branch="train/1", rollout=R2)
    git(place, "merge", "-q", "--squash", "train/1")
    git(place, "commit", "-qm", "Land\n\n" + git(place, "log", "--format=%B", "main..train/1"))
    git(place, "rm", "-q", "experiences/a.md")
    git(place, "commit", "-qm", "Away")
    assert undone(loc) == [("a", "One.", {R1, R2})]


def test_front_matter_that_no_longer_parses_hides_no_statement(loc: Location):
    land(loc, "a", None, ("One.",))
    land(loc, "b", None, ("Two.",))
    file = loc.repo.place / "experiences" / "b.md"
    file.write_text(file.read_text().replace("name: b", "name: [b"))
    git(loc.repo.place, "commit", "-qam", "Break it")
    assert undone(loc) == []
    file.write_text(file.read_text().replace("- Two.\n", ""))
    git(loc.repo.place, "commit", "-qam", "Break it more")
    assert undone(loc) == [("b", "Two.", {R1})]
    assert learner_statements(loc, "main", "offline")["a"] == {"One."}


def test_a_long_history_is_cheap(loc: Location):
    lines: tuple[str, ...] = ()
    plans = []
    for n in range(300):
        more = (*lines[-20:], f"Lesson number {n}.")
        item = upsert("a", page("a", *more), page("a", *lines) if lines else None)
        plans.append(make_plan(loc, item, rollouts=(RolloutRef(id=R1),), again=n))
        lines = more
    commit(loc, plans, "main")
    start = time.perf_counter()
    assert undone(loc) == []
    assert time.perf_counter() - start < 5  # measured 0.3 s on two slow cores


def test_what_was_merged_into_an_undone_statement_is_undone_with_it_unless_it_stands(loc: Location):
    write(loc, "a", "Old.")
    before, after = page("a", "Old."), page("a", "Old.", "Both.")
    fates = {"One.": "merged", "Two.": "superseded", "Three.": "dropped", "Old.": "merged"}
    rows = [{"page": "a", "text": f"- {t}", "fate": f, "into": "- Both."} for t, f in fates.items()]
    item = upsert("a", after, before).model_copy(update={"metadata": {"account": rows}})
    plan = make_plan(loc, item, rollouts=(RolloutRef(id=R1),))
    landed = commit(loc, [plan], "main")[0].commit
    assert undone(loc) == []
    revert(loc, landed, "main")
    assert undone(loc) == [("a", key, frozenset({R1})) for key in ("Both.", "One.", "Two.")]
    revert(loc, git(loc.repo.place, "rev-parse", "HEAD"), "main")
    assert undone(loc) == []
