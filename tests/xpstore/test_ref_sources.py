from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, identify, make_store
from xpstore import ref_sources
from xpstore.git import Repo
from xpstore.repair import repair

if TYPE_CHECKING:
    from pathlib import Path

A, B = "a" * 40, "b" * 40


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    git(tmp_path, "init", "-q", "-b", "main", "a b")
    identify(tmp_path / "a b")
    for n in (1, 2):
        git(tmp_path / "a b", "commit", "-qm", f"Number {n}", "--allow-empty")
    found = Repo.discover(tmp_path / "a b")
    assert found
    return found


def test_names_of_refs_that_only_a_log_knows(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    git(tmp_path / "s", "branch", "mine")
    git(tmp_path / "s", "branch", "gone")
    git(tmp_path / "s", "branch", "-D", "gone")
    (tmp_path / "s" / ".git" / "refs" / "heads" / "mine").unlink()
    assert ref_sources.ref_names(loc.repo, "refs/heads/") == ["refs/heads/main", "refs/heads/mine"]


def test_what_a_ref_was_newest_first_and_who_says_so(repo: Repo) -> None:
    one, two = git(repo.place, "rev-list", "--reverse", "main").split()
    git(repo.place, "pack-refs", "--all")
    git(repo.place, "remote", "add", "origin", "nowhere")
    git(repo.place, "update-ref", "refs/remotes/origin/main", one)
    found = [(at, source) for at, _, source in ref_sources.earlier(repo, "refs/heads/main")]
    nothing = (ref_sources.NOTHING.decode(), "reflog")
    assert found == [
        (two, "reflog"), (one, "reflog"), nothing, (two, "packed-refs"), (one, "remote origin")
    ]  # fmt: skip
    assert [at for at, _, _ in ref_sources.earlier(repo, "HEAD")][:2] == [two, one]
    assert list(ref_sources.earlier(repo, "refs/heads/none")) == []


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_a_message_makes_no_entry_of_a_log(repo: Repo, end: str) -> None:
    log = repo.git_dir / "logs" / "HEAD"
    forged = f"{A} {B} x <x> 99 +0000\tcheckout: moving from main to other"
    log.write_bytes(f"{B} {A} P <p@x> 5 +0000\tcommit: > 77 {end}{forged}{end}\n".encode())
    assert list(ref_sources.earlier(repo, "HEAD")) == [(A, 5, "reflog"), (B, 0, "reflog")]
    assert ref_sources.checked_out(repo) is None
    assert list(ref_sources.without(ref_sources.lines_of(log), lambda commit: commit == B)) == [
        log.read_bytes().replace(B.encode(), ref_sources.NOTHING, 1)
    ]


@pytest.mark.parametrize("name", ["退款\u3000说明", "é", "a\u2028b", "a\xa0b"])
def test_names_in_any_script_are_no_garbage(repo: Repo, name: str) -> None:
    git(repo.place, "branch", name)
    git(repo.place, "checkout", "-q", name)
    git(repo.place, "pack-refs", "--all")
    assert repair(repo.place).faults == ()
    assert ref_sources.packed(repo)[f"refs/heads/{name}"] == git(repo.place, "rev-parse", "HEAD")
    assert ref_sources.checked_out(repo) == name
    assert ref_sources.branches(repo) == {"main", name}


def test_the_lines_of_packed_refs_that_git_can_read() -> None:
    head, main, tag, peeled = (
        b"# pack-refs with: peeled fully-peeled sorted \n",
        f"{A} refs/heads/main\n".encode(),
        f"{B} refs/tags/v1\n".encode(),
        f"^{A}\n".encode(),
    )
    whole = [head, main, tag, peeled]
    assert ref_sources.readable(whole) == whole
    assert ref_sources.readable([head, main, b"\0" * 9 + tag, peeled]) == [head, main]  # not that of main
    assert ref_sources.readable([head, main, tag[:-1]]) == [head, main]
