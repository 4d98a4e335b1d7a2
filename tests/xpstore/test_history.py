from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, git, identify, make_plan, make_store, page, upsert
from tests.lessons import teach as taught_with_evidence
from xpstore import history
from xpstore.commit import commit
from xpstore.errors import NotFoundError
from xpstore.location import Location
from xpstore.review import show

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def teach(
    loc: Location, name: str, *lines: str, before: str | None = None, branch: str = "main"
) -> tuple[str, str]:
    """Land a page; return plan id and commit."""
    plan = make_plan(loc, upsert(name, page(name, *lines), before), branch=branch)
    (landed,) = commit(loc, [plan], branch)
    return landed.plan_id, landed.commit


def test_log_lists_plans_and_peoples_commits_newest_first(loc: Location):
    place = loc.repo.place
    plan_id, first = teach(loc, "refund", "Ask for the id.")
    git(place, "mv", "experiences/refund.md", "experiences/退款.md")
    git(place, "commit", "-qam", "Rename by hand\n\nWhy not.")
    (place / "code.py").write_text("1\n")
    git(place, "add", "code.py")
    git(place, "commit", "-qm", "Code only")
    renamed, taught = history.log(loc, "main")
    assert (taught.commit, taught.plan_ids) == (first, (plan_id,))
    assert taught.stamps[0].learner == "offline"
    assert [(c.kind, c.name) for c in taught.changes] == [("A", "refund")]
    assert (renamed.plan_ids, renamed.subject, renamed.body) == ((), "Rename by hand", "Why not.")
    assert [(c.kind, c.old_name, c.name) for c in renamed.changes] == [("R", "refund", "退款")]
    assert taught.body == "Seen in 1 rollout, 1 passed."


def test_log_of_one_name_follows_renames_and_counts(loc: Location):
    place = loc.repo.place
    teach(loc, "a", "First lesson here.", "Second lesson here.")
    teach(loc, "b", "Something else.")
    git(place, "mv", "experiences/a.md", "experiences/c.md")
    git(place, "commit", "-qm", "Rename")
    assert [e.subject for e in history.log(loc, "main", name="c")] == ["Rename", "Teach a"]
    assert [e.subject for e in history.log(loc, "main", limit=2)] == ["Rename", "Teach b"]
    assert [e.subject for e in history.log(loc, "main~1..main")] == ["Rename"]
    assert not list(history.log(loc, "main", limit=0))
    with pytest.raises(NotFoundError):
        list(history.log(loc, "nowhere"))


def test_plans_are_reachable_through_squash_merge_and_rebase(loc: Location):
    place = loc.repo.place
    one, _ = teach(loc, "a", branch="train/1")
    two, _ = teach(loc, "b", branch="train/1")
    three, _ = teach(loc, "c", branch="train/2")
    four, _ = teach(loc, "d", branch="train/3")
    assert history.reachable_plan_ids(loc, ["main", "nowhere"]) == frozenset()
    git(place, "merge", "-q", "--squash", "train/1")
    git(
        place,
        "commit",
        "-qm",
        "Land (#7)\n\n* Teach a\n\n" + git(place, "log", "--format=%B", "main..train/1"),
    )
    git(place, "merge", "-q", "--no-ff", "-m", "Merge train/2", "train/2")
    git(place, "checkout", "-q", "train/3")
    git(place, "rebase", "-q", "main")
    git(place, "checkout", "-q", "main")
    assert history.reachable_plan_ids(loc, ["main"]) == {one, two, three}
    assert history.reachable_plan_ids(loc, ["train/3"]) == {one, two, three, four}
    merge, squash = history.log(loc, "main")
    assert (merge.plan_ids, merge.stamps) == ((three,), ())
    assert set(squash.plan_ids) == {one, two}


def test_candidates_are_the_open_branches_of_this_store(tmp_path: Path):
    place = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", "code")
    identify(place)
    first = make_store(place / "one")
    second = make_store(place / "two", name="second")
    teach(first, "a", branch="train/1")
    teach(first, "b", branch="train/run/2")
    teach(second, "c", branch="train/second/9")
    assert history.candidates(first) == ["train/1", "train/run/2"]
    assert history.candidates(second) == ["train/second/9"]
    git(place, "merge", "-q", "-m", "Land", "train/1")
    assert history.candidates(first) == ["train/run/2"]


def test_a_branch_with_plans_that_main_does_not_have_is_a_candidate_by_any_name(tmp_path: Path):
    place = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", "code")
    identify(place)
    first = make_store(place / "one")
    second = make_store(place / "two", name="second")
    git(place, "branch", "plain")
    git(place, "branch", "ahead")
    teach(first, "a", branch="learn/x")
    teach(second, "c", branch="train/y")
    git(place, "branch", "on-top", "learn/x")
    git(place, "switch", "-q", "ahead")
    git(place, "commit", "-q", "--allow-empty", "-m", "Code")
    git(place, "switch", "-q", "main")
    teach(first, "d", branch="xp/conflict/1234")
    assert history.candidates(second) == ["train/y"]
    assert history.candidates(first) == ["learn/x", "on-top", "train/y"]  # of that name it could be its own
    git(place, "merge", "-q", "learn/x")
    assert history.candidates(first) == ["train/y"]


def test_commits_are_found_by_plan_branch_and_revision(loc: Location):
    plan_id, commit_id = teach(loc, "a", branch="train/1")
    for name in (plan_id, plan_id[:6], commit_id, commit_id[:8], "train/1"):
        assert history.find_commit(loc, name) == commit_id
    assert history.find_commit(loc, "train/1~1") == loc.repo.ref("refs/heads/main")
    for unknown in ("0000", "nowhere", "-x"):
        with pytest.raises(NotFoundError):
            history.find_commit(loc, unknown)
    git(loc.repo.place, "branch", "-D", "train/1")
    with pytest.raises(NotFoundError, match="on no branch"):
        history.find_commit(loc, plan_id)


@pytest.mark.parametrize("name", ["a", "beef", "退款"])
def test_the_name_of_a_page_is_no_plan_but_leads_to_its_plans(loc: Location, name: str):
    teach(loc, name, branch="main")
    with pytest.raises(NotFoundError) as caught:
        history.find_commit(loc, name)
    assert f"xp log --experience {name if name.isascii() else repr(name)} " in caught.value.hint


def test_an_ambiguous_plan_is_named(loc: Location):
    plans = [make_plan(loc, upsert(f"p{n}", page(f"p{n}")), again=0) for n in range(12)]
    commit(loc, plans, "main")
    ids = sorted(p.plan_id for p in plans)
    with pytest.raises(NotFoundError, match="is short for 12 plans"):
        history.find_plan(loc, "")
    assert history.find_plan(loc, ids[0]) == ids[0]


def test_diff_is_gits_and_keeps_to_the_experiences(tmp_path: Path):
    place = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "trunk", "code")
    identify(place)
    (place / "app.py").write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Code")
    loc = make_store(place / "agent")
    start = git(place, "rev-parse", "HEAD")
    teach(loc, "a", "One.", branch="trunk")
    teach(loc, "b", "Two.", branch="trunk")
    (place / "app.py").write_text("2\n")
    git(place, "commit", "-qam", "More code")
    text = history.diff(loc, start, "trunk")
    assert "app.py" not in text
    assert "+++ b/agent/experiences/a.md" in text
    assert "b.md" not in history.diff(loc, start, "trunk", "a")


def test_history_goes_on_where_the_store_was_moved(tmp_path: Path):
    place = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", "code")
    identify(place)
    (place / "app.py").write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Code")
    loc = make_store(place / "old" / "agent")
    teach(loc, "a", "One lesson.", "Another lesson.")
    teach(loc, "b", "Two.")
    (place / "lib").mkdir()
    git(place, "mv", "old/agent", "lib/agent")
    git(place, "commit", "-qm", "Move")
    moved = Location.find(place / "lib" / "agent")
    teach(
        moved,
        "a",
        "One lesson.",
        "Another lesson.",
        "Third.",
        before=page("a", "One lesson.", "Another lesson."),
    )
    assert [(e.subject, e.changes[0].kind) for e in history.log(moved, "main")] == [
        ("Teach a", "M"),
        ("Teach b", "A"),
        ("Teach a", "A"),
    ]


def test_deletions_by_plans_are_listed(loc: Location):
    teach(loc, "a")
    commit(loc, [make_plan(loc, delete("a", page("a")))], "main")
    newest = next(history.log(loc, "main"))
    assert [(c.kind, c.name, c.after) for c in newest.changes] == [("D", "a", "")]


def test_a_review_has_diff_lessons_and_evidence(loc: Location):
    lesson = taught_with_evidence(loc, "a", None, ("One.",))
    review = show(loc, lesson.plan.plan_id[:8])
    assert review.entry.commit == lesson.commit
    assert "+- One." in review.diff
    (shown,) = review.lessons
    assert (shown.experience, shown.confidence, shown.added) == ("a", 0.5, ("- One.",))
    assert [(r.id, r.passed) for r in shown.rollouts] == [(lesson.rollout, False)]
    assert [n.outcome for n in shown.notes] == ["failure"]


def test_a_page_that_took_the_name_of_another_is_counted_right(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    place = loc.repo.place

    def write(name: str, *lines: str) -> None:
        (place / "experiences").mkdir(exist_ok=True)
        (place / "experiences" / f"{name}.md").write_text(page(name, *lines))
        git(place, "add", "-A")
        git(place, "commit", "-qm", f"{name}: {lines[-1]}")

    write("a", "One lesson.", "Two lessons.", "Three lessons.")
    git(place, "mv", "experiences/a.md", "experiences/b.md")
    git(place, "commit", "-qm", "Rename")
    for number in range(20):
        write("a", f"Another page, {number}.")
    subjects = [e.subject for e in history.log(loc, "main", name="b", limit=2)]
    assert subjects == ["Rename", "a: Three lessons."]
