"""Merges and rebases that somebody has begun in a working tree and not ended."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from xpstore import layout, worktree
from xpstore.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from xpstore.git import Repo

_MARKS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
"""What git leaves in the git directory of a working tree while it waits for a person."""


def check(repo: Repo, refs: Collection[str]) -> None:
    """Raise RefusedError where one of these branches, by full name, is in the middle of such a thing."""
    for git_dir in _git_dirs(repo):
        for mark, what in _MARKS.items():
            if not (git_dir / mark).exists():
                continue
            ref = _branch(git_dir, mark)
            verb = "am" if (git_dir / mark / "applying").exists() else what
            if ref in refs:
                short = ref.removeprefix(layout.HEADS)
                raise RefusedError(
                    f"a git {verb} on {short} is not finished ({git_dir / mark})",
                    hint=f"finish it, or git {verb} --abort; nothing was changed",
                )


def _git_dirs(repo: Repo) -> Iterator[Path]:
    yield repo.common_dir
    linked = repo.common_dir / "worktrees"
    if linked.is_dir():
        yield from (linked / name for name in sorted(os.listdir(linked)))  # noqa: PTH208 - names are enough


def _branch(git_dir: Path, mark: str) -> str:
    """Return the branch it is about: a rebase keeps the name, for HEAD is detached meanwhile."""
    try:
        return (git_dir / mark / "head-name").read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        return worktree.head_of(git_dir)
