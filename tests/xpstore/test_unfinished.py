from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from xpstore import unfinished
from xpstore.errors import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

MAIN = "refs/heads/main"


@pytest.mark.parametrize("mark", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"])
def test_what_waits_on_the_branch_that_is_checked_out(tmp_path: Path, mark: str) -> None:
    loc = make_store(tmp_path / "s")
    unfinished.check(loc.repo, {MAIN})
    (tmp_path / "s" / ".git" / mark).write_text("1" * 40)
    with pytest.raises(RefusedError, match=f"{mark[:5].lower()}.* on main is not finished") as caught:
        unfinished.check(loc.repo, {MAIN})
    assert "--abort" in caught.value.hint
    unfinished.check(loc.repo, {"refs/heads/other"})


@pytest.mark.parametrize(("mark", "what"), [("rebase-merge", "rebase"), ("rebase-apply", "rebase")])
def test_a_rebase_is_of_the_branch_whose_name_it_keeps(tmp_path: Path, mark: str, what: str) -> None:
    loc = make_store(tmp_path / "s")
    git(tmp_path / "s", "worktree", "add", "-q", "--detach", str(tmp_path / "w"))
    folder = tmp_path / "s" / ".git" / "worktrees" / "w" / mark
    folder.mkdir()
    (folder / "head-name").write_text("refs/heads/train/x\n")
    unfinished.check(loc.repo, {MAIN})
    with pytest.raises(RefusedError, match=f"a git {what} on train/x"):
        unfinished.check(loc.repo, {MAIN, "refs/heads/train/x"})


def test_patches_that_are_being_applied(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    folder = tmp_path / "s" / ".git" / "rebase-apply"
    folder.mkdir()
    (folder / "applying").touch()
    with pytest.raises(RefusedError, match="a git am on main"):
        unfinished.check(loc.repo, {MAIN})
