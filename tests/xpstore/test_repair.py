from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, make_store
from xpstore.errors import NotAStoreError
from xpstore.repair import ref_names, repair

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


def test_names_of_refs_that_only_a_log_knows(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    git(tmp_path / "s", "branch", "mine")
    git(tmp_path / "s", "branch", "gone")
    git(tmp_path / "s", "branch", "-D", "gone")
    (tmp_path / "s" / ".git" / "refs" / "heads" / "mine").unlink()
    assert ref_names(loc.repo, "refs/heads/") == ["refs/heads/main", "refs/heads/mine"]


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
