from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, identify, make_plan, make_store, page, upsert
from tests.lessons import Lesson, teach
from xpstore import layout
from xpstore.commit import commit
from xpstore.errors import RepositoryError
from xpstore.landing import land
from xpstore.location import Location
from xpstore.revert import revert
from xpstore.status import set_status
from xpstore.verify import verify

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def states(loc: Location, ref: str = "main") -> list[str]:
    return [f.state for f in verify(loc, ref)]


def problems(loc: Location, ref: str = "main") -> list[str]:
    return [p for f in verify(loc, ref) for p in f.problems]


def amend(loc: Location, old: str = "", new: str = "") -> None:
    """Change the message of the last commit with plain git."""
    message = git(loc.repo.place, "log", "-1", "--format=%B").replace(old, new)
    git(loc.repo.place, "commit", "-q", "--amend", "-m", message)


def replace_evidence(loc: Location, monkeypatch: pytest.MonkeyPatch, path: str, data: bytes | None) -> None:
    """Rewrite the evidence branch as one new root with a file changed or removed, as a vandal would."""
    place, branch = loc.repo.place, loc.evidence_ref.removeprefix("refs/heads/")
    listing = git(place, "ls-tree", "-r", branch).splitlines()
    rows = [row for row in listing if not row.endswith(f"\t{path}")]
    assert len(rows) == len(listing) - 1
    if data is not None:
        blob = subprocess.run(
            ["git", "hash-object", "-w", "--stdin"], cwd=place, input=data, capture_output=True, check=True
        )
        rows.append(f"100644 {blob.stdout.decode().strip()}\t{path}")
    index = loc.repo.git_dir / "vandal"
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    rows_ = "\n".join(rows).encode() + b"\n"
    subprocess.run(["git", "update-index", "--index-info"], cwd=place, input=rows_, check=True)
    tree = git(place, "write-tree")
    monkeypatch.delenv("GIT_INDEX_FILE")
    index.unlink()
    git(place, "update-ref", loc.evidence_ref, git(place, "commit-tree", tree, "-m", "Evidence"))


def test_what_the_store_wrote_is_intact_and_so_is_history_around_it(loc: Location):
    place = loc.repo.place
    first = teach(loc, "a", None, ("One.",))
    teach(loc, "退款", None, ("Two.",))
    git(place, "revert", "--no-edit", first.commit)
    (place / "code.py").write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Code")
    revert(loc, "HEAD~1", "main")
    set_status(loc, ["a"], "deprecated", "main")
    found = verify(loc, "main")
    assert [(f.state, f.problems, f.notes) for f in found] == [("intact", (), ())] * 4
    assert found[0].plan_id == first.plan.plan_id


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("Learner: offline/1", "Learner: gpt", "the trailer Learner is gpt, the record has offline/1"),
        ("passed=0", "passed=1", "the trailer Rollouts is 1 passed=1, the record has 1 passed=0"),
        ("Run-Id: run-1", "Run-Id: run-9", "the trailer Run-Id is run-9"),
        ("Base-Commit: ", "Base-Commit: 0", "the trailer Base-Commit"),
        ("\nLearner: offline/1", "", "the trailer Learner is missing"),
        ("Learner:", "Reverts-Plan: aa\nLearner:", "the trailer Reverts-Plan is aa, the record has none"),
        ("Plan-Digest: ", "Plan-Digest: 0", "the trailer Plan-Digest is 0"),
        ("Plan-Id: ", "Plan-Id: 0", "the trailer Plan-Id is 0"),
        ("1 passed", "2 passed", "the rationale in the message is not the recorded one"),
    ],
)
def test_a_changed_trailer_is_named(loc: Location, old: str, new: str, named: str):
    teach(loc, "a", None, ("One.",))
    amend(loc, old, new)
    assert states(loc) == ["altered"]
    assert any(named in p for p in problems(loc)), problems(loc)


@pytest.mark.parametrize(
    ("pattern", "new", "named"),
    [
        (r"Store: .*", "Store: 00ff00ff", ["the trailer Store is 00ff00ff, the record has "]),
        (r"\nStore: .*", "", ["the trailer Store is missing, the record has "]),
        (
            r"(Plan-Digest: .*)",
            r"\1\nPlan-Digest: 00ff",
            ["the trailer Plan-Digest is ", ", 00ff, the record"],
        ),
        (r"(Plan-Id: .*)", r"Plan-Digest: 00ff\n\1", ["the trailer Plan-Digest is 00ff, "]),
        (r"(Plan-Id: .*)", r"Rollouts: 9 passed=9\n\1", ["the trailer Rollouts is 9 passed=9, 1 passed=0"]),
        (r"Plan-Id: .*\n", "", ["the trailer Plan-Id is missing, the record has "]),
        (r"Plan-Id: ", "plan-id: ", ["the trailer Plan-Id is missing, the record has "]),
        (r"Plan-Id: ", "Plan-Id: no", ["the trailer Plan-Id is no"]),
        (
            r"Plan-Id: .*\n((?:.*\n)*)Rollouts: .*",
            r"\1Rollouts: 15 passed=15",
            [
                "the trailer Plan-Id is missing",
                "the trailer Rollouts is 15 passed=15, the record has 1 passed=0",
            ],
        ),
        (
            r"Plan-Id: .*\nPlan-Digest: .*\n((?:.*\n)*)Rollouts: .*",
            r"\1Rollouts: 15 passed=15",
            [
                "the trailer Plan-Id is missing",
                "the trailer Rollouts is 15 passed=15, the record has 1 passed=0",
            ],
        ),
        (r"Plan-Id: .*\nPlan-Digest: .*", "Plan-Id: 00ff\nPlan-Digest: 00ff", ["/00ff.json is missing"]),
        (
            r"Plan-Id: .*\nPlan-Digest: .*((?:.*\n)*)Store: .*",
            r"Plan-Id: 00ff\nPlan-Digest: 00ff\1Store: 00ff",
            ["the trailer Plan-Id is 00ff, the record has ", "the trailer Store is 00ff"],
        ),
    ],
)
def test_trailers_that_lead_elsewhere_or_are_there_twice_are_named(
    loc: Location, pattern: str, new: str, named: list[str]
):
    lesson = teach(loc, "a", None, ("One.",))
    message = git(loc.repo.place, "log", "-1", "--format=%B")
    changed = re.sub(pattern, new, message)
    assert changed != message
    git(loc.repo.place, "commit", "-q", "--amend", "-m", changed)
    (found,) = verify(loc, "main")
    assert found.state == "altered"
    text = "; ".join(found.problems)
    assert all(words in text for words in named), text
    assert found.plan_id == ("00ff" if "/00ff.json" in text else lesson.plan.plan_id)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("Store: .*", "Store: 00ff", ["the trailer Store is 00ff, the record has "]),
        ("passed=0", "passed=1", ["the trailer Rollouts is 1 passed=1, the record has 1 passed=0"]),
        ("Learner: (.*)", r"Learner: \1\n\n* By hand\n\nLearner: my prose", []),
    ],
)
def test_a_changed_trailer_in_a_squash_is_named(loc: Location, old: str, new: str, named: list[str]):
    place = loc.repo.place
    for name in "ab":
        teach(loc, name, None, ("One.",), branch="train/1")
    texts = git(place, "log", "--reverse", "--format=* %B", "main..train/1")
    git(place, "merge", "-q", "--squash", "train/1")
    git(place, "commit", "-q", "-m", f"Land (#1)\n\n{re.sub(old, new, texts, count=1)}")
    first, second = verify(loc, "main")
    assert (first.state, second.state) == ("altered" if named else "carried", "carried")
    assert all(words in "; ".join(first.problems) for words in named)


def test_a_page_that_was_changed_with_the_store_in_its_message_is_named(loc: Location):
    place = loc.repo.place
    teach(loc, "a", None, ("One.",))
    (place / "experiences" / "a.md").write_text(page("a", "Other."))
    message = re.sub("Store: .*", "Store: 00ff", git(place, "log", "-1", "--format=%B"))
    git(place, "commit", "-qa", "--amend", "-m", message)
    text = "; ".join(problems(loc))
    assert "the trailer Store is 00ff" in text
    assert "experiences/a.md is not what the plan wrote" in text


def test_plans_of_another_store_are_its_own_affair(tmp_path: Path):
    git(tmp_path, "init", "-q", "-b", "main")
    identify(tmp_path)
    git(tmp_path, "commit", "-qm", "Code", "--allow-empty")
    one, other = make_store(tmp_path / "one"), make_store(tmp_path / "other")
    teach(one, "a", None, ("One.",))
    teach(other, "a", None, ("One.",))
    assert (states(one), states(other)) == (["intact"], ["intact"])


@pytest.mark.parametrize("more", ["", "\n\nCo-authored-by: Pat <pat@example.org>"])
def test_a_title_alone_is_carried(loc: Location, more: str):
    teach(loc, "a", None, ("One.",))
    git(loc.repo.place, "commit", "-q", "--amend", "-m", f"Teach a (#1){more}")
    assert states(loc) == ["carried"]


def test_an_amended_page_and_a_path_outside_are_named(loc: Location):
    place = loc.repo.place
    teach(loc, "a", None, ("One.",))
    (place / "experiences" / "a.md").write_text(page("a", "Other."))
    (place / "experiences" / "x.txt").write_text("x")
    (place / "evil.sh").write_text("x")
    git(place, "add", ".")
    git(place, "commit", "-q", "--amend", "--no-edit")
    text = " ".join(problems(loc))
    assert "experiences/a.md is not what the plan wrote" in text
    assert "changes evil.sh, outside experiences/" in text
    assert "experiences/x.txt, which is no experience file" in text


def test_a_rebase_is_carried_and_an_edit_after_it_is_altered(loc: Location):
    place = loc.repo.place
    teach(loc, "a", None, ("One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.", "Eight."))
    lines = ("One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.", "Eight.")
    teach(loc, "a", lines, (*lines, "Nine."), branch="train/1")
    teach(loc, "b", None, ("Else.",), branch="train/1")
    (place / "experiences" / "a.md").write_text(page("a", "Zero.", *lines))
    git(place, "commit", "-qam", "By hand")
    git(place, "checkout", "-q", "train/1")
    git(place, "rebase", "-q", "main")
    found = verify(loc, "train/1")
    assert [f.state for f in found] == ["intact", "carried", "carried"]
    assert found[1].notes[1].startswith("rebased: experiences/a.md was")
    assert found[2].notes[0].startswith("rebased: it was made on")
    (place / "experiences" / "b.md").write_text(page("b", "Else!"))
    git(place, "commit", "-qa", "--amend", "--no-edit")
    assert states(loc, "train/1") == ["intact", "carried", "altered"]


@pytest.mark.parametrize("message", ["git", "site", "title"])
def test_a_squash_is_carried_and_an_edited_squash_is_altered(loc: Location, message: str):
    place = loc.repo.place
    lessons = [
        teach(loc, "a", None, ("One.",), branch="train/1"),
        teach(loc, "a", ("One.",), ("One.", "Two."), branch="train/1"),
        teach(loc, "b", None, ("Three.",), branch="train/1"),
    ]
    texts = git(place, "log", "--reverse", "--format=* %B", "main..train/1")
    git(place, "merge", "-q", "--squash", "train/1")
    how = {"git": ["--no-edit"], "site": ["-m", f"Land (#1)\n\n{texts}"], "title": ["-m", "Land (#1)"]}
    git(place, "commit", "-q", *how[message])
    found = verify(loc, "main")
    assert [f.state for f in found] == ["carried"] * 3, found
    assert {f.plan_id for f in found} == {lesson.plan.plan_id for lesson in lessons}
    if message != "title":
        (place / "experiences" / "b.md").write_text(page("b", "Three!"))
        git(place, "commit", "-qa", "--amend", "--no-edit")
        found = verify(loc, "main")
        assert sorted(f.state for f in found) == ["altered", "carried", "carried"]
        assert "experiences/b.md is not what the plan wrote" in " ".join(p for f in found for p in f.problems)


def test_a_merge_leaves_plans_intact(loc: Location):
    teach(loc, "a", None, ("One.",), branch="train/1")
    git(loc.repo.place, "merge", "-q", "--no-ff", "-m", "Merge", "train/1")
    assert states(loc) == ["intact"]


def paths_of(lesson: Lesson) -> dict[str, str]:
    folder = layout.plan_folder(lesson.plan.plan_id)
    return {
        "rollout": layout.rollout_path(lesson.rollout),
        "case": layout.case_path(lesson.case),
        "note": lesson.trajectory.uri,
        "patch": f"{folder}/01-a.patch",
        "record": layout.record_path(lesson.plan.plan_id, lesson.plan.digest),
    }


@pytest.mark.parametrize("kind", ["rollout", "case", "note", "patch", "record"])
def test_missing_and_altered_evidence_is_named(loc: Location, kind: str, monkeypatch: pytest.MonkeyPatch):
    lesson = teach(loc, "a", None, ("One.",))
    path = paths_of(lesson)[kind]
    data = git(loc.repo.place, "show", f"xp/evidence:{path}") + "\n"
    replace_evidence(loc, monkeypatch, path, None)
    (plan, branch) = verify(loc, "main")
    assert any(path in p or "patch of gradient" in p for p in plan.problems), plan
    assert "the evidence branch was rewritten" in " ".join(branch.problems)
    git(loc.repo.place, "update-ref", loc.evidence_ref, git(loc.repo.place, "rev-parse", "xp/evidence@{1}"))
    assert states(loc) == ["intact"]
    changed = data.replace("One", "Two").replace("case", "cake").replace("failed", "passed")
    assert changed != data
    replace_evidence(loc, monkeypatch, path, changed.encode())
    assert any(f"{path} was altered" in p for p in problems(loc)), problems(loc)


def test_evidence_that_nobody_cites_must_stay_too(loc: Location, monkeypatch: pytest.MonkeyPatch):
    teach(loc, "a", None, ("One.",))
    lesson = teach(loc, "b", None, ("Two.",), branch="train/1")
    git(loc.repo.place, "branch", "-qD", "train/1")
    assert states(loc) == ["intact"]
    replace_evidence(loc, monkeypatch, layout.rollout_path(lesson.rollout), None)
    assert "the evidence branch was rewritten: it was at" in problems(loc)[0]
    teach(loc, "c", None, ("Three.",))  # writing on top hides nothing
    assert "was rewritten" in " ".join(problems(loc))


def test_a_removal_on_the_evidence_branch_is_named_in_any_clone(loc: Location, tmp_path: Path):
    place = loc.repo.place
    lesson = teach(loc, "a", None, ("One.",))
    path = layout.rollout_path(lesson.rollout)
    git(place, "worktree", "add", "-q", str(tmp_path / "w"), "xp/evidence")
    git(tmp_path / "w", "rm", "-q", path)
    git(tmp_path / "w", "commit", "-qm", "Tidy up")
    git(tmp_path, "clone", "-q", str(place), "c")
    git(tmp_path / "c", "branch", "-q", "xp/evidence", "origin/xp/evidence")
    text = " ".join(problems(Location.find(tmp_path / "c")))
    assert f"removed {path}" in text
    assert f"{path} is missing" in text


def test_a_lost_evidence_branch_is_named(loc: Location):
    teach(loc, "a", None, ("One.",))
    git(loc.repo.place, "branch", "-qD", "xp/evidence")
    (plan, branch) = verify(loc, "main")
    assert "is missing in the evidence branch" in plan.problems[0]
    assert "the evidence branch is gone; it was at" in branch.problems[0]


def test_a_prefix_in_a_code_repository_with_renames_and_moves(tmp_path: Path):
    place = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", "code")
    identify(place)
    (place / "app.py").write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Code")
    loc = make_store(place / "agent")
    teach(loc, "a", None, ("One lesson.", "Two lessons."))
    git(place, "mv", "agent/experiences/a.md", "agent/experiences/b.md")
    git(place, "commit", "-qm", "Rename")
    git(place, "mv", "agent", "lib")
    git(place, "commit", "-qm", "Move")
    moved = Location.find(place / "lib")
    teach(moved, "c", None, ("Three.",))
    assert states(moved) == ["intact", "intact"]


def test_limits_of_the_time_hold(loc: Location):
    place = loc.repo.place
    teach(loc, "a", None, tuple(f"Line {n}." for n in range(20)))
    config = (place / "xp.toml").read_text()
    (place / "xp.toml").write_text(config.replace("file_lines = 1000", "file_lines = 10"))
    git(place, "commit", "-qam", "Lower the limit")
    assert states(loc) == ["intact"]


def test_pages_that_people_left_are_judged_at_the_tip(loc: Location):
    teach(loc, "a", None, ("One lesson.",))
    folder = loc.repo.place / "experiences"
    (folder / "con.md").write_text("x\n")
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "odd.md").write_text("See\u202e this.\n")
    (folder / "long.md").write_text("x\n" * 2000)
    git(loc.repo.place, "add", ".")
    git(loc.repo.place, "commit", "-qm", "By hand")
    plan, pages = verify(loc, "main")
    assert (plan.state, pages.state, pages.what) == ("intact", "altered", "the experiences")
    assert [p.split(":")[0].rpartition("/")[2] for p in pages.problems] == ["con.md", "link.md", "odd.md"]
    assert pages.notes == ("experiences/long.md: lines: 2000, the limit is 1000",)


def test_a_page_that_cannot_be_read_is_not_intact(loc: Location):
    place = loc.repo.place
    (place / "experiences").mkdir()
    (place / "experiences" / "a.md").write_text("mine\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "By hand")
    blob = git(place, "rev-parse", "HEAD:experiences/a.md")
    (place / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    (problem,) = problems(loc)
    assert problem.startswith(f"experiences/a.md: cannot read object {blob}")


def test_a_shallow_clone_cannot_be_verified(loc: Location, tmp_path: Path):
    teach(loc, "a", None, ("One lesson.",))
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{loc.repo.place}", "shallow")
    with pytest.raises(RepositoryError, match="is a shallow clone") as caught:
        verify(Location.find(tmp_path / "shallow"), "main")
    assert "--unshallow" in caught.value.hint


def test_a_stacked_plan_that_was_tried_again_is_on_another_plan_of_its_group(loc: Location):
    """The commit that it was made on is another plan's, and a landing has made that one again."""
    for run in ("1", "2"):
        commit(loc, [make_plan(loc, upsert(f"moved-{run}", page("m")), rollouts=())], "main")
        for name in ("a", "b"):  # each made on what the branch is by then
            branch = f"train/{run}" if name == "b" else "main"
            plan = make_plan(loc, upsert(name, page(name)), branch=branch, rollouts=())
            commit(loc, [plan], f"train/{run}")
    commit(loc, [make_plan(loc, upsert("moved-3", page("m")), rollouts=())], "main")
    land(loc, "train/2")
    assert problems(loc) == []
    assert states(loc)[-1] == "carried"
