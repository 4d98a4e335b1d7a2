"""What a word names in a repository, by git's rules (gitrevisions) but for one.

A plain name is a branch before it is a tag: a tag called `main` must not take the place of what agents read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xpstore import gitcli
from xpstore.errors import RepositoryError
from xpstore.failures import DAMAGE

if TYPE_CHECKING:
    from pathlib import Path

ID = re.compile("[0-9a-f]{40}")
_KINDS = ("heads/", "tags/", "remotes/")


def ref_names(spec: str) -> list[str]:
    """Return the full names of the refs that a word may be short for, in order: branches before tags."""
    whole = [spec] if spec.startswith("refs/") or re.fullmatch("[A-Z_]+", spec) else []
    places = ["refs/heads/", "refs/", "refs/tags/", "refs/remotes/"]
    if spec.startswith(_KINDS):
        places.sort(key=lambda place: place != "refs/")
    return [*whole, *(f"{place}{spec}" for place in places), f"refs/remotes/{spec}/HEAD"]


def is_plain(spec: str) -> bool:
    """Return whether a word says neither what kind of ref it names nor an id."""
    return not (spec.startswith(("refs/", *_KINDS)) or ID.fullmatch(spec))


def start(spec: str) -> str:
    """Return the name that an expression starts from; `HEAD` where it has none."""
    return re.split(r"[~^:]|@\{|@$", spec)[0] or "HEAD"


def computed(where: Path, spec: str) -> str | None:
    """Let git work out an abbreviation or expression: libgit2 does not say why there is nothing.

    Returns the id of an object, None where nothing has this name. Raises RepositoryError where something
    on the way is damaged.
    """
    if not spec or "\0" in spec:
        return None
    first = _branch_first(where, spec)
    done = gitcli.attempt(where, ["rev-parse", "--verify", "-q", "--end-of-options", first])
    if done.code and "error: " in done.err and "ambiguous" not in done.err:
        raise RepositoryError(f"cannot tell what {spec} is in {where}: {gitcli.first(done)}", hint=DAMAGE)
    found = done.out.decode("ascii", "replace").strip()
    return found if not done.code and ID.fullmatch(found) else None


def _branch_first(where: Path, spec: str) -> str:
    """Return an expression that starts from the branch where git would take a tag of this name."""
    word, branch = start(spec), f"refs/heads/{start(spec)}"
    if not (spec.startswith(word) and is_plain(word)) or word.endswith("HEAD"):
        return spec
    is_there = gitcli.attempt(where, ["show-ref", "--verify", "-q", "--", branch]).code == 0
    return f"refs/heads/{spec}" if is_there else spec


def is_ancestor(where: Path, old: str, new: str) -> bool:
    """Return whether commit `old` is in the history of `new`. Raises RepositoryError."""
    done = gitcli.attempt(where, ["merge-base", "--is-ancestor", old, new])
    if done.code > 1 or "error: " in done.err:  # 1 also where a commit on the way is missing
        raise RepositoryError(f"cannot compare commits in {where}: {gitcli.first(done)}", hint=DAMAGE)
    return done.code == 0
