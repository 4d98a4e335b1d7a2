"""The repository that a hook was started for, and the one that `xp hooks` is called in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from xpstore.errors import NotAStoreError
from xpstore.git import Repo

if TYPE_CHECKING:
    from xpstore.cli.app import App


def repository(app: App) -> Repo:
    """Return the repository around the directory. Raises NotAStoreError."""
    repo = Repo.discover(app.cwd)
    if repo is None:
        raise NotAStoreError(f"{app.cwd} is in no git repository", hint="-C DIR looks elsewhere")
    return repo


def hooked_repository(cwd: Path) -> Repo | None:
    """Return the repository that git started a hook for: GIT_DIR, where git has set it."""
    return Repo.discover(cwd / os.environ.get("GIT_DIR", "."))


def variable(name: str) -> Path | None:
    """Return the file or folder that git names in a variable, absolute; None where it names none."""
    value = os.environ.get(name)
    return Path.cwd() / value if value else None
