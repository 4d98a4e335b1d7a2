from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, identify, make_plan, make_store, page, upsert
from tests.e2e.bad import loose, unpack
from xpstore.commit import commit
from xpstore.errors import NotAStoreError, RepositoryError
from xpstore.repair import repair

if TYPE_CHECKING:
    from pathlib import Path


def test_a_sound_repository_is_left_alone(tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    before = git(tmp_path / "s", "show-ref")
    for dry_run in (True, False):
        done = repair(tmp_path / "s", dry_run=dry_run)
        assert (done.faults, done.missing, done.kept_in, done.is_whole) == ((), (), "", True)
    assert git(tmp_path / "s", "show-ref") == before
    with pytest.raises(NotAStoreError):
        repair(tmp_path)


def test_a_reflog_loses_what_leads_to_lost_commits_and_is_kept_as_it_was(tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    log = tmp_path / "s" / ".git" / "logs" / "refs" / "heads" / "main"
    before = log.read_text()
    end = before.split()[1]
    log.write_text(f"{before}{end} {'1' * 40} Pat <p@x> 1 +0000\tlost\n")
    done = repair(tmp_path / "s")
    assert [fault.what for fault in done.faults] == ["reflogs"]
    assert log.read_text() == before
    assert (tmp_path / "s" / ".git" / "xpstore.lost" / "1" / "logs" / "refs" / "heads" / "main").is_file()
    fsck(tmp_path / "s")


def test_a_repository_without_a_store_is_mended_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "r")
    git(tmp_path / "r", "-c", "user.name=P", "-c", "user.email=p@x", "commit", "-qm", "One", "--allow-empty")
    ref = tmp_path / "r" / ".git" / "refs" / "heads" / "main"
    before = ref.read_bytes()
    ref.write_bytes(b"")
    assert repair(tmp_path / "r").is_whole
    assert ref.read_bytes() == before


def files_of_two_commits(tmp_path: Path) -> tuple[Path, str, str]:
    """Make a repository of two commits, everything loose; return it and the two."""
    git(tmp_path, "init", "-q", "-b", "main", "r")
    place = tmp_path / "r"
    identify(place)
    for n in (1, 2):
        (place / "page.txt").write_text(f"{n}\n")
        git(place, "add", ".")
        git(place, "commit", "-qm", f"Number {n}")
    return place, git(place, "rev-parse", "HEAD~1"), git(place, "rev-parse", "HEAD")


def test_a_branch_stays_where_only_a_file_of_its_commit_is_lost(tmp_path: Path) -> None:
    place, _, second = files_of_two_commits(tmp_path)
    file, blob = loose(place, "HEAD:page.txt")
    data = file.read_bytes()
    file.write_bytes(b"")
    (place / "page.txt").write_text("other\n")
    log = (place / ".git" / "logs" / "HEAD").read_bytes()
    done = repair(place)
    assert (done.missing, done.is_whole) == ((f"blob {blob}",), False)
    assert git(place, "rev-parse", "main") == second
    assert (place / ".git" / "logs" / "HEAD").read_bytes() == log
    file.write_bytes(data)
    assert repair(place).is_whole
    assert git(place, "rev-parse", "main") == second


def test_a_commit_that_a_branch_is_taken_off_is_kept_and_named(tmp_path: Path) -> None:
    place, first, second = files_of_two_commits(tmp_path)
    tree = loose(place, "HEAD^{tree}")
    tree[0].unlink()
    (place / ".git" / "index").unlink()
    done = repair(place)
    assert git(place, "rev-parse", "main") == first
    kept = f"refs/xpstore/lost/{second[:12]}"
    assert git(place, "rev-parse", kept) == second
    assert kept in next(fault.done for fault in done.faults if fault.what == "refs/heads/main")
    assert done.missing == (f"tree {tree[1]}",)
    assert second in (place / ".git" / "logs" / "HEAD").read_text()


def test_entries_after_a_lost_commit_stay_in_the_reflog(tmp_path: Path) -> None:
    place, first, second = files_of_two_commits(tmp_path)
    log = place / ".git" / "logs" / "refs" / "heads" / "main"
    who = "Pat <p@x> 1 +0000\tx\n"
    one, two = f"{'0' * 40} {first} {who}", f"{first} {second} {who}"
    log.write_text(f"{one}{first} {'1' * 40} {who}{'1' * 40} {second} {who}")
    assert repair(place).is_whole
    assert log.read_text() == one + two


def test_a_detached_head_at_a_lost_commit_goes_back_to_what_its_reflog_has(tmp_path: Path) -> None:
    place, _, second = files_of_two_commits(tmp_path)
    (place / ".git" / "HEAD").write_text("1" * 40 + "\n")
    assert [f.what for f in repair(place, dry_run=True).faults] == ["HEAD"]
    assert repair(place).is_whole
    assert (place / ".git" / "HEAD").read_text() == f"{second}\n"


def test_tips_of_branches_that_nothing_tells_of_are_named(tmp_path: Path) -> None:
    place, _, second = files_of_two_commits(tmp_path)
    git(tmp_path, "clone", "-q", "--bare", "r", "b.git")
    (tmp_path / "b.git" / "packed-refs").unlink()
    for dry_run in (True, False):
        done = repair(tmp_path / "b.git", dry_run=dry_run)
        assert [f.what for f in done.faults] == [f"commit {second}"]
        assert f"git branch NAME {second[:12]}" in done.faults[0].problem
        assert not done.is_whole
    git(tmp_path / "b.git", "branch", "main", second)
    assert repair(tmp_path / "b.git").is_whole
    assert repair(place).faults == ()


@pytest.mark.parametrize("gone", [("HEAD",), ("refs",), ("HEAD", "refs")])
def test_a_git_directory_without_head_or_refs_is_opened_again(tmp_path: Path, gone: tuple[str, ...]) -> None:
    place, _, second = files_of_two_commits(tmp_path)
    for name in gone:
        (place / ".git" / name).rename(tmp_path / name)
    assert not repair(place, dry_run=True).is_whole
    assert not (place / ".git" / gone[0]).exists()
    assert repair(place).is_whole
    assert git(place, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(place, "rev-parse", "HEAD") == second
    assert git(place, "status", "--short") == ""


def test_a_disk_that_says_no_is_one_error_and_nothing_is_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, _, second = files_of_two_commits(tmp_path)
    git(place, "pack-refs", "--all")
    packed = place / ".git" / "packed-refs"
    packed.write_text(before := f"{packed.read_text()}garbage\n")

    def full(_paths: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("xpstore.salvage.sync", full)
        with pytest.raises(RepositoryError, match="No space left") as refused:
            repair(place)
    assert "free space" in refused.value.hint
    assert packed.read_text() == before
    assert repair(place).is_whole
    assert git(place, "rev-parse", "main") == second


def test_a_branch_is_judged_again_when_the_evidence_is_back(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    place = loc.repo.place
    (place / ".git" / "packed-refs").unlink(missing_ok=True)
    old = git(place, "rev-parse", "main")
    commit(loc, [make_plan(loc, upsert("a", page("a")), rollouts=())], "main")
    new, known = git(place, "rev-parse", "main"), git(place, "rev-parse", loc.evidence_ref)
    (place / ".git" / "packed-refs").write_text(f"{old} refs/heads/main\n{known} {loc.evidence_ref}\n")
    (place / ".git" / "logs" / "refs" / "heads" / "main").unlink()
    (place / ".git" / loc.evidence_ref).write_bytes(b"")
    unpack(place)
    loose(place, "main:experiences")[0].unlink()
    loose(place, "main^{tree}")[0].unlink()
    (place / ".git" / "index").unlink()
    done = repair(place)
    assert git(place, "rev-parse", "main") == new
    assert [fault.what for fault in done.faults if fault.what.startswith("refs/")] == [loc.evidence_ref]
    fsck(place)


def test_an_index_of_which_no_commit_is_there_is_only_set_aside(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "r")
    (tmp_path / "r" / ".git" / "index").write_bytes(b"garbage")
    (fault,) = repair(tmp_path / "r").faults
    assert fault.done == "set aside"
    assert repair(tmp_path / "r").faults == ()
