"""A commit for programs on other machines: held by a ref of a repository that they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import gitcli, remote
from xpstore.errors import RepositoryError
from xpstore.git import Repo
from xpstore.remote import Update

if TYPE_CHECKING:
    from pathlib import Path

REFS = "refs/xp/pinned/"
"""Each is named by its commit, so that two who hold the same one agree."""
HERE = "refs/heads/pinned"


def address(repo: Repo, name: str) -> str:
    """Return the URL of a remote, as git would fetch from it."""
    return (
        gitcli.run(repo.place, ["remote", "get-url", "--", name]).decode("utf-8", "surrogateescape").strip()
    )


def hold(repo: Repo, name: str, commit: str) -> None:
    """Put a commit into the repository of a remote, on a ref of its own. Raises RepositoryError."""
    ref = REFS + commit
    if remote.push(repo, name, [Update(ref, None, commit)]):
        return
    if remote.listing(repo, name).get(ref) != commit:
        raise RepositoryError(f"{name} does not take {ref}", hint="may you push there?")


def release(repo: Repo, name: str, commit: str) -> None:
    """Take that ref away again; where somebody else has done so, nothing is to do. Raises RepositoryError."""
    remote.push(repo, name, [Update(REFS + commit, commit, "")])


def fetched(folder: Path, url: str, commit: str) -> Repo:
    """Return a repository in `folder` that has the commit, fetched where it is not there yet.

    Raises RepositoryError where it cannot be had.
    """
    repo = Repo.discover(folder) if (folder / ".git").is_dir() else Repo.create(folder, "pinned")
    if repo is None or not repo.has(commit):
        repo = repo or Repo.create(folder, "pinned")
        remote.fetch(repo, url, {commit: f"{HERE}-{commit}"})
    return repo
