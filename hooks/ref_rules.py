"""Which refs a push really moves, and which names it must leave free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.remark import Remark
from xpstore import gitcli
from xpstore.errors import NotFoundError, RepositoryError
from xpstore.names import fold

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from xpstore.git import Repo

_SHORT = ("refs/", "heads/", "tags/")
"""What git puts before a short name, in turn, to find what it is short for."""
_ALIKE = ("core.ignorecase", "core.precomposeunicode")
"""What git has found out about the disk when it made the repository: two names can be one file there."""


def target(repo: Repo, ref: str) -> str:
    """Return the ref that moves when this one is pushed: a symbolic ref is another name of it.

    Raises RepositoryError where it leads nowhere.
    """
    file = repo.common_dir / ref
    try:
        # the oldest kind is a link, and says no `ref:`
        is_other = file.readlink().parts[:1] == ("refs",) if file.is_symlink() else _begins(file, b"ref:")
    except OSError:  # packed, or not there yet: symbolic refs are always files
        return ref
    if not is_other:
        return ref
    done = gitcli.attempt(repo.git_dir, ["symbolic-ref", "-q", "--", ref])
    if done.code:
        raise RepositoryError(
            f"cannot tell what {ref} stands for: {gitcli.first(done)}", hint="git symbolic-ref"
        )
    return done.out.decode("utf-8", "surrogateescape").strip("\n")


def twins(repo: Repo, ref: str, pushed: Iterable[str]) -> list[str]:
    """Return the other refs, here or pushed, that are in the same file where the disk takes names for one."""
    if not any((repo.setting(key) or "").lower() == "true" for key in _ALIKE):
        return []
    return [other for other in {*repo.ref_names(), *pushed} if other != ref and fold(other) == fold(ref)]


def _begins(file: Path, start: bytes) -> bool:
    with file.open("rb") as handle:
        return handle.read(len(start)) == start


def not_a_commit(repo: Repo, new: str) -> Remark | None:
    """Return what speaks against a branch, or notes, at an object; None where it is a commit.

    Raises RepositoryError where it cannot be read.
    """
    try:
        is_commit = repo.resolve(new) == new
    except NotFoundError:
        is_commit = False
    return None if is_commit else Remark(f"{new[:12]} is no commit", "push a branch, or a commit")


def branch_in_place_of(ref: str) -> str | None:
    """Return the branch that git would take a ref for, or hide behind it; None for a ref of its own kind.

    `refs/tags/main` and `refs/main` both are found where somebody asks for `main`.
    """
    rest = ref
    while start := next((start for start in _SHORT if rest.startswith(start)), ""):
        rest = rest.removeprefix(start)
    branch = f"refs/heads/{rest}"
    is_name = branch == branch.encode("utf-8", "replace").decode()  # no branch of a store is called otherwise
    return branch if is_name and branch != ref else None
