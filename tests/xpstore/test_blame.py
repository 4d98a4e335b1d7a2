from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore.blame import Blame, blame
from xpstore.commit import commit
from xpstore.errors import NotFoundError, RepositoryError
from xpstore.evidence import EvidenceFile
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import content_id
from xpstore.init import init
from xpstore.note import to_text
from xpstore.plan import PolicyUpdatePlan, RolloutRef
from xpstore.revert import revert
from xpstore.review import Note, Seen
from xpstore.trajectory import Trajectory

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

Lines = tuple[str, ...]


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def note(rollout: str) -> Trajectory:
    return Trajectory(name="n", content="", outcome="failure", retrieval_anchor=rollout, rollout=rollout)


def plan_of(
    loc: Location, before: Lines | None, after: Lines, rollout: str, *, name: str = "a", **fields: object
) -> PolicyUpdatePlan:
    """Return a plan whose gradient takes a page from some lines to others."""
    sides = [None if lines is None else page(name, *lines) for lines in (before, after)]
    old, new = (None if text is None else MemoryFile(name=name, content=text) for text in sides)
    gradient = PatchSemanticGradient(
        before_file=old,
        after_file=new,
        rationale=f"Seen in {rollout}.",
        confidence=0.5,
        rollouts=(rollout,),
        evidence_trajectory_uris=(note(rollout).uri,),
    )
    seen = RolloutRef(id=rollout, passed=False, score=0.25, case=f"case of {rollout[:4]}")
    item = upsert(name, page(name, *after), sides[0])
    return make_plan(loc, item, gradients=(gradient,), rollouts=(seen,), **fields)


def land(
    loc: Location, before: Lines | None, after: Lines, rollout: str, branch: str = "main", **fields: object
) -> tuple[str, str]:
    """Land such a plan; return commit and plan id."""
    plan = plan_of(loc, before, after, rollout, branch=branch, **fields)
    file = EvidenceFile(note(rollout).uri, to_text(note(rollout)).encode())
    return commit(loc, [plan], branch, extra_evidence=[file])[0].commit, plan.plan_id


def told(found: Blame) -> dict[str, tuple[str, Lines, Lines]]:
    """Return line → who wrote it, in which plans, on which rollouts."""
    return {
        line.text: (
            line.origin.learner or line.origin.author,
            line.origin.plans,
            tuple(seen.id for lesson in line.origin.lessons for seen in lesson.rollouts),
        )
        for line in found.lines
    }


R1, R2, R3 = content_id(1), content_id(2), content_id(3)


def test_a_line_leads_to_plan_gradient_trajectory_rollout_case_and_reward(loc: Location):
    sha, plan_id = land(loc, None, ("One.",), R1)
    line = next(at for at in blame(loc, "a", "main", evidence=True).lines if at.text == "- One.")
    assert (line.number, line.restored_by) == (8, "")
    origin = line.origin
    assert (origin.commit, origin.plans, origin.learner, origin.subject) == (
        sha,
        (plan_id,),
        "offline/1",
        "Teach a",
    )
    (lesson,) = origin.lessons
    assert (lesson.plan_id, lesson.confidence, lesson.rationale) == (plan_id, 0.5, f"Seen in {R1}.")
    assert lesson.gradient_id == plan_of(loc, None, ("One.",), R1).gradients[0].id
    assert lesson.rollouts == (Seen(R1, False, 0.25, f"case of {R1[:4]}"),)
    assert lesson.notes == (Note(note(R1).uri, R1, "failure", R1),)


def test_peoples_lines_are_theirs(loc: Location):
    _, plan_id = land(loc, None, ("One.",), R1)
    file = loc.repo.place / "experiences" / "a.md"
    file.write_text(file.read_text() + "- Mine.\n")
    git(loc.repo.place, "commit", "-qam", "By hand")
    found = told(blame(loc, "a", "main", evidence=True))
    assert found["- One."] == ("offline/1", (plan_id,), (R1,))
    assert found["- Mine."] == ("Pat", (), ())
    assert [line.text for line in blame(loc, "a", "HEAD~1").lines][-1] == "- One."


def test_a_reworded_statement_keeps_who_brought_it(loc: Location):
    old, new = "Ask for the number first.", "Ask for the number of the order first."
    first, one = land(loc, None, (old,), R1)
    second, two = land(loc, (old,), (f"{new}\n  *Support: 1 of 2.*",), R2)
    third, three = land(loc, (f"{new}\n  *Support: 1 of 2.*",), (f"{new}\n  *Support: 5 of 6.*",), R3)
    found = blame(loc, "a", "main", evidence=True)
    assert told(found)[f"- {new}"] == ("offline/1", (two,), (R2,))
    assert told(found)["  *Support: 5 of 6.*"][1] == (three,)
    (statement,) = found.statements
    assert (statement.first, statement.last, statement.section) == (8, 9, "Approach")
    assert [(o.commit, o.plans, o.lessons[0].rollouts[0].id) for _, o in statement.history] == [
        (third, (three,), R3),
        (second, (two,), R2),
        (first, (one,), R1),
    ]
    assert statement.history[-1][0] == f"- {old}"


def test_renames_and_merges_are_followed(tmp_path: Path):
    git(tmp_path, "init", "-q", "-b", "main", "code")
    loc = init(tmp_path / "code" / "agent")
    place = loc.repo.place
    git(place, "config", "user.name", "Pat")
    git(place, "config", "user.email", "pat@example.org")
    _, one = land(loc, None, ("One lesson.", "Two lessons."), R1)
    _, two = land(loc, ("One lesson.", "Two lessons."), ("One lesson.", "Two lessons.", "3."), R2, "train/1")
    (place / "app.py").write_text("1\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Code")
    git(place, "merge", "-q", "--no-ff", "-m", "Merge", "train/1")
    git(place, "mv", "agent/experiences/a.md", "agent/experiences/b.md")
    git(place, "commit", "-qm", "Rename")
    found = told(blame(loc, "b", "main", evidence=True))
    assert found["- Two lessons."] == ("offline/1", (one,), (R1,))
    assert found["- 3."] == ("offline/1", (two,), (R2,))


@pytest.mark.parametrize("keeps", ["trailers", "title", "an edit"])
@pytest.mark.parametrize("evidence", [True, False])
def test_each_line_of_a_squash_is_its_plans(loc: Location, keeps: str, evidence: bool):  # noqa: FBT001
    place = loc.repo.place
    _, one = land(loc, None, ("One.",), R1, "train/1")
    _, two = land(loc, ("One.",), ("One.", "Two."), R2, "train/1", learner="gpt-x")
    message = "Train (#3)\n\n" + git(place, "log", "--format=%B", "main..train/1")
    git(place, "merge", "-q", "--squash", "train/1")
    if keeps == "an edit":
        file = place / "experiences" / "a.md"
        file.write_text(file.read_text() + "- Mine.\n")
    git(place, "commit", "-qam", "Train (#3)" if keeps == "title" else message)
    git(place, "branch", "-qD", "train/1")
    found = told(blame(loc, "a", "main", evidence=evidence))
    assert found["- One."][:2] == ("offline/1", (one,))
    assert found["- Two."][:2] == ("gpt-x", (two,))
    assert found["- Two."][2] == ((R2,) if evidence else ())
    assert found.get("- Mine.", ("Pat", (), ())) == ("Pat", (), ())


@pytest.mark.parametrize("way", ["xp", "git"])
def test_what_came_back_is_whose_it_was(loc: Location, way: str):
    land(loc, None, ("One.",), R1)
    sha, two = land(loc, ("One.",), ("One.", "Two."), R2)
    for target in (sha, "HEAD"):
        if way == "xp":
            revert(loc, target, "main")
        else:
            git(loc.repo.place, "revert", "--no-edit", target)
    line = blame(loc, "a", "main").lines[-1]
    assert (line.text, line.origin.commit, line.origin.plans) == ("- Two.", sha, (two,))
    assert line.restored_by == git(loc.repo.place, "rev-parse", "HEAD")


def test_without_evidence_a_line_still_has_its_plan(loc: Location):
    _, plan_id = land(loc, None, ("One.",), R1)
    git(loc.repo.place, "branch", "-qD", "xp/evidence")
    assert told(blame(loc, "a", "main", evidence=True))["- One."] == ("offline/1", (plan_id,), ())


def test_what_is_not_there_is_an_error(loc: Location, tmp_path: Path):
    land(loc, None, ("One.",), R1)
    for name, ref in (("b", "main"), ("a", "nowhere")):
        with pytest.raises(NotFoundError):
            blame(loc, name, ref)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{loc.repo.place}", "shallow")
    shallow = type(loc).find(tmp_path / "shallow")
    with pytest.raises(RepositoryError, match="shallow"):
        blame(shallow, "a", "main")


def test_the_repository_configures_no_command_into_it(loc: Location):
    place = loc.repo.place
    land(loc, None, ("One.",), R1)
    (place / ".git" / "info" / "attributes").write_text("*.md diff=evil\n")
    git(place, "config", "diff.evil.textconv", "touch evil; cat")
    assert [line.text for line in blame(loc, "a", "main").lines][-1] == "- One."
    assert not (place / "evil").exists()


def test_commits_that_the_user_told_git_to_ignore_are_passed_over(loc: Location):
    place = loc.repo.place
    _, plan_id = land(loc, None, ("One  lesson.",), R1)
    file = place / "experiences" / "a.md"
    file.write_text(file.read_text().replace("  lesson", " lesson"))
    git(place, "commit", "-qam", "Format")
    (place / "ignored").write_text(git(place, "rev-parse", "HEAD") + "\n")
    git(place, "config", "blame.ignoreRevsFile", "ignored")
    assert told(blame(loc, "a", "main"))["- One lesson."][1] == (plan_id,)


def test_two_hundred_revisions_are_quick(loc: Location):
    lines: Lines = ()
    plans = []
    for number in range(200):
        more = (*lines, f"Lesson number {number}.")
        plans.append(plan_of(loc, lines or None, more, R1))
        lines = more
    commit(loc, plans, "main")
    start = time.perf_counter()
    found = blame(loc, "a", "main")
    took = time.perf_counter() - start
    assert len({line.origin.commit for line in found.lines}) == 200
    assert took < 5, took  # measured 0.2 s on two slow cores
