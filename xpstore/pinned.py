"""A commit for programs on other machines: held by a ref of a repository that they reach."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from xpstore import gitcli, remote
from xpstore.errors import RepositoryError
from xpstore.git import Repo
from xpstore.remote import Update

if TYPE_CHECKING:
    from pathlib import Path

REFS = "refs/xp/pinned/"
"""Each is named by its commit and by who holds it: nobody lets go of what another one holds."""
HERE = "refs/heads/pinned"
REMOTE = "store"
"""The other repository in that of a worker: its URL may have a password, and is in no message."""
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/]*:|/")


def address(repo: Repo, name: str) -> str:
    """Return the URL of a remote as git would fetch from it, from any folder; "~" is as git has it."""
    url = gitcli.run(repo.place, ["remote", "get-url", "--", name]).decode("utf-8", "surrogateescape").strip()
    return url if _ELSEWHERE.match(url) else str(((repo.workdir or repo.place) / url).resolve())


def hold(repo: Repo, name: str, commit: str) -> str:
    """Put a commit into the repository of a remote, on a ref of its own, and return its name.

    Raises RepositoryError.
    """
    ref = f"{REFS}{commit}-{secrets.token_hex(4)}"
    if not remote.push(repo, name, [Update(ref, None, commit)]):
        raise RepositoryError(f"{name} does not take {ref}", hint="may you push there?")
    return ref


def release(repo: Repo, name: str, ref: str, commit: str) -> None:
    """Take that ref away again; where somebody else has done so, nothing is to do. Raises RepositoryError."""
    remote.push(repo, name, [Update(ref, commit, "")])


def fetched(folder: Path, url: str, commit: str) -> Repo:
    """Return a repository in `folder` that has the commit, fetched from a URL where it is not there yet.

    One folder is for one URL. Raises RepositoryError where it cannot be had.
    """
    repo = Repo.discover(folder) if (folder / ".git").is_dir() else None
    if repo is None:
        repo = Repo.create(folder, "pinned")
        gitcli.run(repo.place, ["config", f"remote.{REMOTE}.url", url])
    if not repo.has(commit):
        remote.fetch(repo, REMOTE, {commit: f"{HERE}-{commit}"})
    return repo
