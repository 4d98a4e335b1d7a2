from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, identify, make_store
from tests.lessons import received, rollout_of, teach
from xpstore import derived, evidence, layout, maintain, purge
from xpstore.errors import NotFoundError, RefusedError, UsageError
from xpstore.forget import forget
from xpstore.hashing import content_id
from xpstore.location import Location
from xpstore.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "my cat is called Schnurrbart"  # noqa: S105 - what a user said


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def everything(place: Path) -> bytes:
    """Return the content of every object in the repository, reachable or not, in packs or loose."""
    command = ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"]
    return subprocess.run(command, cwd=place, capture_output=True, check=True).stdout


def is_gone(place: Path) -> bool:
    logs = [f for f in (place / ".git").rglob("*") if f.is_file() and "logs" in f.parts]
    return SECRET.encode() not in everything(place) and not any(
        SECRET in f.read_text("utf-8", "replace") for f in logs
    )


def test_the_transcript_is_in_no_object_and_lessons_are_listed(loc: Location):
    place = loc.repo.place
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    other = teach(loc, "b", None, ("Two.",), case="other")
    assert not is_gone(place)
    derived.answers(loc.repo).mkdir()
    (derived.answers(loc.repo) / "ab12").write_text(SECRET, "utf-8")
    result = forget(loc, lesson.rollout[:7])
    assert not derived.answers(loc.repo).exists()
    assert result.rollouts == (lesson.rollout,)
    assert [(c.plan_id, c.experience, c.statement) for c in result.lessons] == [
        (lesson.plan.plan_id, "a", "- One.")
    ]
    assert layout.case_path(lesson.case) in result.removed
    assert is_gone(place)
    fsck(place)
    kept = evidence.listing(loc, "")
    assert layout.rollout_path(other.rollout) in kept
    assert layout.tombstone_path(lesson.rollout) in kept
    assert evidence.ledger(loc, lesson.rollout) == []
    assert git(place, "rev-list", "--count", "xp/evidence") == "1"
    found = verify(loc, "main")
    assert [f.state for f in found] == ["intact", "intact"]
    assert f"rollout {lesson.rollout} was forgotten" in found[0].notes


def test_a_dry_run_changes_nothing(loc: Location):
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    before = git(loc.repo.place, "for-each-ref")
    assert forget(loc, lesson.rollout, dry_run=True).lessons
    assert git(loc.repo.place, "for-each-ref") == before
    assert not is_gone(loc.repo.place)


def test_it_does_not_come_back(loc: Location):
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    forget(loc, lesson.rollout)
    _, _, files = received(rollout_of(SECRET))
    with pytest.raises(RefusedError, match="was forgotten"):
        evidence.write(loc, files, "Again")
    with pytest.raises(NotFoundError, match="forgotten already"):
        forget(loc, lesson.rollout)
    teach(loc, "c", None, ("Three.",))
    assert [f.state for f in verify(loc, "main")] == ["intact", "intact"]


def test_a_case_that_another_rollout_has_stays(loc: Location):
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    teach(loc, "b", None, ("Two.",))
    assert layout.case_path(lesson.case) not in forget(loc, lesson.rollout).removed
    assert [f.state for f in verify(loc, "main")] == ["intact", "intact"]


def test_packs_keeps_graphs_and_peoples_lost_work_survive(loc: Location):
    place = loc.repo.place
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    (place / "draft.txt").write_text("a week of work\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Work")
    lost = git(place, "rev-parse", "HEAD")
    git(place, "reset", "-q", "--hard", "HEAD~1")
    git(place, "repack", "-q", "-a", "-d")
    git(place, "multi-pack-index", "write")
    git(place, "commit-graph", "write", "--reachable")
    (pack,) = (place / ".git" / "objects" / "pack").glob("*.pack")
    pack.with_suffix(".keep").write_text("mine\n")
    teach(loc, "b", None, ("Two.",), said="else")
    dangling = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"],
        cwd=place,
        input=b"precious\n",
        capture_output=True,
        check=True,
    )
    forget(loc, lesson.rollout)
    assert is_gone(place)
    fsck(place)
    assert git(place, "show", f"{lost}:draft.txt") == "a week of work"
    assert lost[:7] in git(place, "reflog")
    assert git(place, "cat-file", "-p", dangling.stdout.decode().strip()) == "precious"
    assert [k.read_text() for k in (place / ".git" / "objects" / "pack").glob("*.keep")] == ["mine\n"]
    git(place, "commit-graph", "verify")


def test_old_tips_reflogs_and_remote_branches_are_purged(loc: Location, tmp_path: Path):
    place = loc.repo.place
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    git(tmp_path, "clone", "-q", "--bare", str(place), "hub")
    git(place, "remote", "add", "hub", str(tmp_path / "hub"))
    git(place, "fetch", "-q", "hub")
    git(place, "checkout", "-q", "xp/evidence")
    git(place, "checkout", "-q", "main")
    git(place, "pack-refs", "--all")
    result = forget(loc, lesson.rollout)
    assert result.remotes == ("refs/remotes/hub/xp/evidence",)
    assert is_gone(place)
    fsck(place)
    assert "refs/remotes/hub/xp/evidence" not in git(place, "for-each-ref")


def test_a_linked_worktree_on_the_evidence_follows_and_others_are_named(loc: Location, tmp_path: Path):
    place = loc.repo.place
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    git(place, "worktree", "add", "-q", str(tmp_path / "w"), "xp/evidence")
    git(place, "branch", "copy", "xp/evidence")
    git(place, "worktree", "add", "-q", "--detach", str(tmp_path / "x"), "xp/evidence")
    with pytest.raises(RefusedError, match=r"refs/heads/copy, .*/x"):
        forget(loc, lesson.rollout)
    git(place, "branch", "-qD", "copy")
    git(place, "worktree", "remove", "--force", str(tmp_path / "x"))
    linked = Location.find(tmp_path / "w", loc.config.id)
    forget(linked, lesson.rollout)
    assert is_gone(place)
    assert not (tmp_path / "w" / layout.rollout_path(lesson.rollout)).exists()
    assert git(tmp_path / "w", "status", "--porcelain") == ""


def test_notes_that_name_the_rollout_lose_those_lines(loc: Location):
    place = loc.repo.place
    lesson = teach(loc, "a", None, ("One.",), said="x")
    lines = f'{{"rollout":"{lesson.rollout}","said":"{SECRET}"}}\n{{"rollout":"other"}}\n'
    git(place, "notes", "--ref", loc.notes_ref, "add", "-m", lines, "main")
    forget(loc, lesson.rollout)
    assert git(place, "notes", "--ref", loc.notes_ref, "show", "main") == '{"rollout":"other"}'
    assert is_gone(place)
    fsck(place)


def test_what_is_elsewhere_in_the_history_is_named_and_finished_later(loc: Location):
    place = loc.repo.place
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    path = layout.rollout_path(lesson.rollout)
    git(place, "checkout", "-q", "-b", "side")
    (place / "copy.json").write_bytes(evidence.read(loc, path) or b"")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Copy")
    git(place, "checkout", "-q", "main")
    with pytest.raises(RefusedError, match=r"still reachable: copy\.json"):
        forget(loc, lesson.rollout)
    git(place, "branch", "-qD", "side")
    git(place, "reflog", "expire", "--expire=now", "--all")
    with pytest.raises(NotFoundError, match="forgotten already"):
        forget(loc, lesson.rollout)
    assert is_gone(place)


def test_a_prefix_in_a_code_repository_and_a_second_store(tmp_path: Path):
    place = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", "code")
    identify(place)
    (place / "app.py").write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Code")
    first = make_store(place / "one")
    second = make_store(place / "two", name="second")
    lesson = teach(first, "a", None, ("One.",), said=SECRET)
    other = teach(second, "b", None, ("Two.",))
    tips = git(place, "rev-parse", "main", "xp/second/evidence")
    forget(first, lesson.rollout)
    assert is_gone(place)
    assert git(place, "rev-parse", "main", "xp/second/evidence") == tips
    assert [f.state for f in (*verify(first, "main"), *verify(second, "main"))] == ["intact", "intact"]
    with pytest.raises(NotFoundError):
        forget(first, other.rollout)


def test_ambiguous_and_unknown_rollouts_are_named(loc: Location):
    ids = ["abcdef00", "abcdef01"]
    evidence.write(loc, [evidence.ledger_file(i, {"event": "dropped"}) for i in ids], "Two alike")
    with pytest.raises(NotFoundError, match="short for 2 rollouts: abcdef00, abcdef01"):
        forget(loc, "abcdef0")
    with pytest.raises(NotFoundError, match="there is no rollout"):
        forget(loc, "ffff0000")


@pytest.mark.parametrize("digits", [0, 1, 2, 5])
def test_a_few_digits_forget_nothing(loc: Location, digits: int):
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    before = git(loc.repo.place, "for-each-ref")
    for dry_run in (True, False):
        with pytest.raises(UsageError, match="too short") as caught:
            forget(loc, lesson.rollout[:digits], dry_run=dry_run)
        assert "at least 6 digits" in caught.value.hint
    assert git(loc.repo.place, "for-each-ref") == before
    assert forget(loc, lesson.rollout[:6], dry_run=True).rollouts == (lesson.rollout,)


def test_a_bare_repository_is_purged_too(loc: Location, tmp_path: Path):
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    git(tmp_path, "clone", "-q", "--bare", str(loc.repo.place), "hub")
    hub = Location.find(tmp_path / "hub")
    forget(hub, lesson.rollout)
    assert SECRET.encode() not in everything(tmp_path / "hub")
    fsck(tmp_path / "hub")
    assert [f.state for f in verify(hub, "main")] == ["intact"]
    assert not is_gone(loc.repo.place)


def test_a_clone_forgets_what_only_its_remote_branch_had(loc: Location, tmp_path: Path):
    lesson = teach(loc, "a", None, ("One.",), said=SECRET)
    kept = teach(loc, "b", None, ("Two.",))
    git(tmp_path, "clone", "-q", "--no-local", str(loc.repo.place), "c")
    clone = Location.find(tmp_path / "c")
    assert forget(clone, lesson.rollout, dry_run=True).remotes == ("refs/remotes/origin/xp/evidence",)
    assert not is_gone(clone.repo.place)
    forget(clone, lesson.rollout)
    assert is_gone(clone.repo.place)
    assert evidence.find_ids(clone, "rollouts", "") == [kept.rollout]
    assert clone.repo.ref(clone.evidence_ref) == evidence.tip(clone)
    fsck(clone.repo.place)
    assert {f.state for f in verify(clone, "main")} == {"intact"}


def test_it_waits_for_a_process_that_folds_packs(loc: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    rollout = content_id({"r": SECRET})
    evidence.write(loc, [evidence.rollout_file(rollout, {"r": SECRET})], "Receive")
    order: list[str] = []
    with maintain.alone(loc.repo) as handle:
        # a process that has the file open holds the lock, as git in the background does
        script = "import sys; sys.stdin.read()"
        command = [sys.executable, "-c", script]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(handle or 0,))
    real = purge.purge

    def purged(*args: object) -> int:
        order.append("purged")
        return real(*args)

    def end() -> None:
        order.append("ended")
        child.communicate()

    monkeypatch.setattr(purge, "purge", purged)
    with maintain.alone(loc.repo) as other:
        assert other is None
    threading.Timer(0.2, end).start()
    forget(loc, rollout)
    assert order == ["ended", "purged"]
    assert is_gone(loc.repo.place)
