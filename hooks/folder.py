"""Where git looks for hooks: `<git directory>/hooks`, or what core.hooksPath says, and whose that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import gitcli
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.git import Repo

DEFAULT = "default"
_EVERYBODYS = {"global": "all your repositories", "system": "all repositories of this machine"}


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of hooks."""

    path: Path
    scope: str
    """Which configuration names it: local, worktree, global or system; `default` for none."""
    shared_with: str = ""
    """Who else runs the hooks in it; "" for nobody."""


def find(repo: Repo) -> Folder:
    """Return the folder that git runs hooks from here, as `git rev-parse --git-path hooks` names it.

    It is read from the configuration: our own git runs no hooks, and would say so. Raises UsageError where
    core.hooksPath is empty: git then runs `/pre-commit`.
    """
    done = gitcli.attempt(
        repo.place, ["config", "-z", "--show-scope", "--type=path", "--get-all", "core.hooksPath"]
    )
    words = done.out.decode("utf-8", "surrogateescape").split("\0")
    named = [pair for pair in zip(words[::2], words[1::2], strict=False) if pair[0] != "command"]
    if not named:
        path, scope = repo.common_dir / "hooks", DEFAULT
    else:
        scope, value = named[-1]
        if not value:
            text = f"core.hooksPath is empty ({scope} configuration): git runs no hooks of {repo.place}"
            hint = f"git config --{scope} --unset core.hooksPath uses the usual folder"
            raise UsageError(text, hint=hint)
        path = (repo.workdir or repo.git_dir) / value
    return Folder(path, scope, _shared_with(repo, path, scope))


def is_tracked(repo: Repo, file: Path) -> bool:
    """Return whether a file is part of the project, so that changing it would change it for everybody."""
    if repo.workdir is None or not file.is_relative_to(repo.workdir):
        return False
    where = str(file.relative_to(repo.workdir))
    return gitcli.attempt(repo.place, ["ls-files", "--error-unmatch", "--", where]).code == 0


def _shared_with(repo: Repo, path: Path, scope: str) -> str:
    if scope in _EVERYBODYS:
        return _EVERYBODYS[scope]
    real = path.resolve()
    homes = [repo.common_dir.resolve(), *([repo.workdir.resolve()] if repo.workdir else [])]
    return "" if any(real.is_relative_to(home) for home in homes) else "whoever else uses that folder"
