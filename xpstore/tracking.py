"""Branches that a clone has from its remotes only: `git clone` makes a local branch of no more than one.

As with `git switch`, a branch that is missing here and that a remote has counts as being where the remote
had it when it was last fetched. These refs are read, never moved; the first write makes the local branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import layout
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xpstore.git import Repo


def tip(repo: Repo, ref: str) -> str | None:
    """Return the commit of a branch by its full name: the local one, else the one that the remotes have.

    None where there is neither. Raises UsageError where the branch is missing here and remotes disagree.
    """
    local = repo.ref(ref)
    if local is not None or not ref.startswith(layout.HEADS):
        return local
    found = copies(repo, ref)
    if len(set(found.values())) > 1:
        branch = ref.removeprefix(layout.HEADS)
        names = [name.removeprefix(layout.REMOTES) for name in found]
        raise UsageError(
            f"there is no branch {branch} here, and the remotes have different ones: {', '.join(names)}",
            hint=f"choose one: git branch {branch} {names[0]}",
        )
    return next(iter(found.values()), None)


def copies(repo: Repo, ref: str) -> dict[str, str]:
    """Return the remote-tracking refs of a branch and where they are, in the order of the remotes' names."""
    branch = ref.removeprefix(layout.HEADS)
    names = [f"{layout.REMOTES}{remote}/{branch}" for remote in sorted(repo.remotes)]
    return {name: target for name in names if (target := repo.ref(name)) is not None}


def below(repo: Repo, prefix: str) -> dict[str, str]:
    """Return the remote-tracking refs of the branches whose full name starts with `prefix`, as `copies`."""
    branch = prefix.removeprefix(layout.HEADS)
    found: dict[str, str] = {}
    for remote in sorted(repo.remotes):
        found |= repo.refs(f"{layout.REMOTES}{remote}/{branch}")
    return found


def unpublished(repo: Repo, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of these branches, full names, that no remote had whole when it was last seen."""
    return tuple(
        ref
        for ref in names
        if (tip := repo.ref(ref)) and not any(repo.is_ancestor(tip, at) for at in copies(repo, ref).values())
    )
