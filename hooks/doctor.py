"""What of the hooks is really at work. Four questions, for any of them can be true without the others.

declared     this repository was told to have the hook (`xp hooks install`)
registered   its shim is in the folder that git runs hooks from, under its name
resolvable   the shim finds an xp that can be started
effective    git starts it: the file is executable, and the shim is of this version
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooks import folder, install, shim

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.git import Repo


@dataclass(frozen=True, slots=True)
class Checked:
    """What is true of one hook."""

    hook: str
    declared: bool
    registered: bool
    resolvable: bool
    effective: bool
    kept: str = ""
    """The hook that was there before and runs first."""
    problems: tuple[str, ...] = ()

    @property
    def is_lost(self) -> bool:
        """Whether it should be at work and is not."""
        return self.declared and not self.effective


@dataclass(frozen=True, slots=True)
class Report:
    """All of it."""

    folder: folder.Folder
    hooks: tuple[Checked, ...]
    left_over: tuple[str, ...]
    """Kept hooks that nothing runs any more, and shims under names that git does not look for."""


def examine(repo: Repo, program: str) -> Report:
    """Look at every hook that was installed here, or is there. Nothing is run, nothing is changed.

    `program` is where xp is if it is not on PATH.
    """
    where = folder.find(repo)
    declared = install.declared_here(repo)
    there = install.shims(where.path)
    resolvable = bool(shutil.which("xp")) or os.access(program, os.X_OK)
    names = [hook for hook in shim.KNOWN if hook in declared or hook in there]
    checked = tuple(
        _check(where.path, hook, there.get(hook), is_declared=hook in declared, is_resolvable=resolvable)
        for hook in names
    )
    strays = [name for name in there if name not in shim.KNOWN]
    return Report(where, checked, (*install.orphans(where.path), *strays))


def _check(
    where: Path, hook: str, there: shim.Shim | None, *, is_declared: bool, is_resolvable: bool
) -> Checked:
    file = where / hook
    problems = []
    is_ours = there is not None and there.hook == hook
    if not is_ours:
        state = "somebody has put another hook there" if os.path.lexists(file) else "there is no file"
        problems.append(f"{state}: {file}")
    if not is_declared:
        problems.append("it was not installed for this repository: the folder is shared, or was copied")
    if not is_resolvable:
        problems.append("xp is not on PATH" + ("; pushes are refused" if hook not in shim.CLIENT else ""))
    is_started = is_ours and os.access(file, os.X_OK)
    if is_ours and not is_started:
        problems.append(f"git ignores it: {file} is not executable")
    is_old = there is not None and there.version != shim.VERSION
    if is_old:
        problems.append("it is of another version of xp")
    if there and there.kept and not os.path.lexists(where / there.kept):
        problems.append(f"the hook that was there before is gone: {there.kept}")
    return Checked(
        hook,
        declared=is_declared,
        registered=is_ours,
        resolvable=is_resolvable,
        effective=is_started and is_resolvable and not is_old,
        kept=there.kept if there else "",
        problems=tuple(problems),
    )
