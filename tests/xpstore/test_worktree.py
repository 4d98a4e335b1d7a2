from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import gitcli, worktree
from xpstore.commit import commit
from xpstore.errors import RefusedError, RepositoryError
from xpstore.git import Busy
from xpstore.gitcli import Ran
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    """Return a store whose branch `next` has one more file than `main`, which is checked out."""
    found = make_store(tmp_path / "s")
    here = found.repo.place
    git(here, "switch", "-qc", "next")
    (here / "new.txt").write_text("new\n")
    git(here, "add", ".")
    git(here, "commit", "-qm", "next")
    git(here, "switch", "-q", "main")
    return found


def test_who_has_a_branch_checked_out(loc: Location, tmp_path: Path) -> None:
    assert worktree.checked_out(loc.repo, loc.main_ref) == [loc.repo.place]
    assert worktree.checked_out(loc.repo, "refs/heads/next") == []
    git(loc.repo.place, "worktree", "add", "-q", str(tmp_path / "linked"), "next")
    linked = Location.find(tmp_path / "linked")
    for repo in (loc.repo, linked.repo):
        assert worktree.checked_out(repo, "refs/heads/next") == [tmp_path / "linked"]
        assert worktree.checked_out(repo, loc.main_ref) == [loc.repo.place]
    git(loc.repo.place, "clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    assert worktree.checked_out(Location.find(tmp_path / "bare").repo, loc.main_ref) == []


def test_follow_and_step_back(loc: Location) -> None:
    here, old, new = loc.repo.place, loc.repo.resolve("main"), loc.repo.resolve("next")
    worktree.follow([here], old, new)
    assert git(here, "status", "--short") == "A  new.txt"
    worktree.step_back([here], new, old)
    worktree.step_back([here], new, old)
    assert git(here, "status", "--short") == ""


@pytest.mark.parametrize("ignored", [False, True])
def test_untracked_file_in_the_way(loc: Location, *, ignored: bool) -> None:
    here = loc.repo.place
    (here / "new.txt").write_text("mine\n")
    if ignored:
        (here / ".git" / "info" / "exclude").write_text("new.txt\n")
    with pytest.raises(RefusedError, match=r"new\.txt"):
        worktree.follow([here], loc.repo.resolve("main"), loc.repo.resolve("next"))
    assert (here / "new.txt").read_text() == "mine\n"


def test_one_of_two_refuses_and_neither_changes(loc: Location, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(loc.repo.place, "worktree", "add", "-q", "--force", str(other), "main")
    (other / "new.txt").write_text("mine\n")
    places = worktree.checked_out(loc.repo, loc.main_ref)
    assert places == [loc.repo.place, other]
    with pytest.raises(RefusedError):
        worktree.follow(places, loc.repo.resolve("main"), loc.repo.resolve("next"))
    assert not (loc.repo.place / "new.txt").exists()


def test_locked_index_is_busy(loc: Location) -> None:
    (loc.repo.git_dir / "index.lock").touch()
    with pytest.raises(Busy, match=r"index\.lock"):
        worktree.follow([loc.repo.place], loc.repo.resolve("main"), loc.repo.resolve("next"))
    assert not (loc.repo.place / "new.txt").exists()


def test_a_link_in_the_place_of_a_folder_is_a_local_change(loc: Location, tmp_path: Path) -> None:
    here = loc.repo.place
    (tmp_path / "elsewhere").mkdir()
    git(here, "switch", "-q", "next")
    (here / "sub").mkdir()
    for text in ("one\n", "two\n"):
        (here / "sub" / "a.txt").write_text(text)
        git(here, "add", ".")
        git(here, "commit", "-qm", text)
    git(here, "reset", "-q", "--hard", "HEAD~1")
    (here / "sub" / "a.txt").unlink()
    (here / "sub").rmdir()
    (here / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match=r"sub in .* is in the way"):
        worktree.follow([here], loc.repo.resolve("next"), loc.repo.resolve("next@{1}"))
    assert (here / "sub").is_symlink()
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("key", ["process", "clean", "smudge"])
def test_no_filter_of_the_repository_runs(loc: Location, tmp_path: Path, key: str) -> None:
    here = loc.repo.place
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    trap.chmod(0o755)
    for name in ("evil", "e=v.il"):
        git(here, "config", f"filter.{name}.{key}", str(trap))
        git(here, "config", f"filter.{name}.required", "true")
    (here / ".git" / "info").mkdir(exist_ok=True)
    (here / ".git" / "info" / "attributes").write_text("*.txt filter=evil\n*.toml filter=e=v.il\n")
    (here / "xp.toml").touch()  # git must compare contents
    worktree.follow([here], loc.repo.resolve("main"), loc.repo.resolve("next"))
    assert (here / "new.txt").read_text() == "new\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("written", ["whole", "half", "nothing"])
def test_step_back_when_git_could_not_write_its_index(loc: Location, written: str) -> None:
    here, old = loc.repo.place, loc.repo.resolve("next")
    git(here, "switch", "-q", "next")
    (here / "new.txt").write_text("new\nand more\n")
    (here / "added.txt").write_text("added\n")
    git(here, "rm", "-q", "xp.toml")
    git(here, "add", ".")
    git(here, "commit", "-qm", "more")
    new = loc.repo.resolve("next")
    git(here, "reset", "-q", "--hard", old)
    # what read-tree leaves on a full disk: files of the new commit, the index of the old one
    (here / "xp.toml").unlink()
    (here / "new.txt").write_text({"whole": "new\nand more\n", "half": "new\nand", "nothing": ""}[written])
    (here / "added.txt").write_text("added\n" if written == "whole" else "")
    worktree.step_back([here], new, old)
    assert git(here, "status", "--short") == ""
    assert (here / "new.txt").read_text() == "new\n"


def test_step_back_spares_what_somebody_changed_since(loc: Location) -> None:
    here, old, new = loc.repo.place, loc.repo.resolve("main"), loc.repo.resolve("next")
    (here / "new.txt").write_text("mine\n")
    worktree.step_back([here], new, old)
    assert (here / "new.txt").read_text() == "mine\n"


def test_a_full_disk_is_no_lock_of_somebody(loc: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = worktree.gitcli.attempt

    def full(place, args, **options):
        if args[0] == "read-tree":
            return Ran(128, b"", "fatal: sha1 file '.git/index.lock' write error. Out of diskspace")
        return attempt(place, args, **options)

    monkeypatch.setattr(worktree.gitcli, "attempt", full)
    with pytest.raises(RepositoryError, match="Out of diskspace"):
        worktree.follow([loc.repo.place], loc.repo.resolve("main"), loc.repo.resolve("next"))


def test_changes_that_are_not_committed_are_seen_and_no_filter_runs(loc: Location, tmp_path: Path) -> None:
    here = loc.repo.place
    (here / "experiences").mkdir(exist_ok=True)
    assert not worktree.has_changes(here, "experiences")
    git(here, "config", "filter.spy.clean", f"touch {tmp_path / 'ran'}; cat")
    (here / ".gitattributes").write_text("*.md filter=spy\n")
    (here / "experiences" / "a.md").write_text("- Look.\n")
    assert worktree.has_changes(here, "experiences")
    assert not worktree.has_changes(here, "cases")
    assert not (tmp_path / "ran").exists()
    git(here, "add", ".")
    git(here, "commit", "-q", "-m", "Write a page")
    (tmp_path / "ran").unlink()
    (here / "experiences" / "a.md").write_text("- Look.\n")  # the same, written again
    assert not worktree.has_changes(here, "experiences")
    assert not (tmp_path / "ran").exists()


def index_lock(tmp_path: Path, data: bytes) -> Path:
    loc = make_store(tmp_path / "s")
    file = loc.repo.git_dir / "index.lock"
    file.write_bytes(data)
    return file


@pytest.mark.parametrize("data", [b"", b"DIRC\0\0\0\2\0\0\0"])
def test_an_index_lock_that_a_killed_git_left_is_removed(tmp_path: Path, data: bytes) -> None:
    file = index_lock(tmp_path, data)
    worktree.clear_index_locks([tmp_path / "s"], 60)
    assert file.exists()
    worktree.clear_index_locks([tmp_path / "s", tmp_path / "gone"], 0)
    assert not file.exists()


def test_an_index_lock_that_somebody_has_open_stays(tmp_path: Path) -> None:
    file = index_lock(tmp_path, b"")
    with file.open("ab"):
        worktree.clear_index_locks([tmp_path / "s"], 0)
        assert file.exists()


def test_an_index_lock_of_an_open_editor_stays(tmp_path: Path) -> None:
    file = index_lock(tmp_path, b"")
    file.write_bytes((tmp_path / "s" / ".git" / "index").read_bytes())  # `git commit -a` leaves it whole
    worktree.clear_index_locks([tmp_path / "s"], 0)
    assert file.exists()


def test_a_touched_file_is_no_local_change_while_another_git_has_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    os.utime(tmp_path / "s" / "experiences" / "a.md", (1, 1))
    held, real = loc.repo.git_dir / "index.lock", gitcli.attempt
    refreshed = []

    def attempt(place: Path, args: Sequence[str], **options: object) -> Ran:
        if args[0] != "update-index":
            return real(place, args, **options)
        refreshed.append(len(refreshed))
        if len(refreshed) == 1:
            held.touch()
        done = real(place, args, **options)
        held.unlink(missing_ok=True)
        return done

    monkeypatch.setattr(gitcli, "attempt", attempt)
    commit(loc, [make_plan(loc, upsert("a", page("a", "More."), page("a")))], "main")
    assert refreshed == [0, 1]
    assert (tmp_path / "s" / "experiences" / "a.md").read_text() == page("a", "More.")


@pytest.mark.parametrize("name", [b"caf\xe9", b"a b "])
def test_a_working_tree_whose_folder_has_any_name_follows(loc: Location, tmp_path: Path, name: bytes) -> None:
    place = tmp_path / os.fsdecode(name)
    git(loc.repo.place, "worktree", "add", "-q", "-b", "other", str(place))
    commit(loc, [make_plan(loc, upsert("退款", page("退款")))], "other")
    assert (place / "experiences" / "退款.md").read_text() == page("退款")
    assert git(place, "status", "--short") == ""
