from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from xpstore import programs
from xpstore.errors import RefusedError, RepositoryError
from xpstore.sync import sync

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a trace."""
    made = tmp_path / "trap"
    made.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    made.chmod(0o755)
    return made


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    made = make_store(tmp_path / "s")
    git(tmp_path / "s", "remote", "add", "origin", str(tmp_path / "other.git"))
    return made


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("ssh://127.0.0.1/x.git", "core.sshCommand"),
        ("git@127.0.0.1:x.git", "core.sshCommand"),
        ("https://127.0.0.1:9/x.git", "credential.helper"),
        ("http://127.0.0.1:9/x.git", "credential.http://127.0.0.1:9.helper"),
        ("git://127.0.0.1:9/x.git", "core.gitProxy"),
        ("other.git", "remote.origin.uploadpack"),
        ("other.git", "remote.origin.receivepack"),
        ("other.git", "remote.origin.vcs"),
    ],
)
def test_programs_of_a_copied_repository_are_named_and_not_run(
    loc: Location, tmp_path: Path, trap: Path, url: str, key: str
) -> None:
    git(loc.repo.place, "config", "remote.origin.url", url)
    git(loc.repo.place, "config", key, str(trap))
    with pytest.raises(RefusedError, match=key.lower().replace(".", r"\.")):
        sync(loc)
    assert not (tmp_path / "ran").exists()
    git(loc.repo.place, "config", "--unset", key)
    git(loc.repo.place, "config", "--global", key, str(trap))
    programs.check(loc.repo, "origin")


def test_git_itself_would_run_them(loc: Location, tmp_path: Path, trap: Path) -> None:
    git(loc.repo.place, "config", "remote.origin.url", "ssh://127.0.0.1/x.git")
    git(loc.repo.place, "config", "core.sshCommand", str(trap))
    with pytest.raises(AssertionError):
        git(loc.repo.place, "fetch", "origin")
    assert (tmp_path / "ran").exists()


def test_what_does_not_matter_for_the_address_is_no_matter(loc: Location, trap: Path) -> None:
    for key in ("core.sshCommand", "credential.helper", "core.gitProxy", "remote.other.uploadpack"):
        git(loc.repo.place, "config", key, str(trap))
    programs.check(loc.repo, "origin")


def test_who_says_so_in_the_environment_may(
    loc: Location, trap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(loc.repo.place, "config", "remote.origin.url", "ssh://127.0.0.1/x.git")
    git(loc.repo.place, "config", "core.sshCommand", str(trap))
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -i key")
    programs.check(loc.repo, "origin")


def test_an_address_that_is_a_command_line_is_not_followed(loc: Location, tmp_path: Path, trap: Path) -> None:
    git(loc.repo.place, "config", "remote.origin.url", f"ext::{trap}")
    git(loc.repo.place, "config", "protocol.ext.allow", "always")
    with pytest.raises(RepositoryError, match="'ext' not allowed"):
        sync(loc)
    assert not (tmp_path / "ran").exists()
