from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.builders import git
from xpstore import git_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_only_a_git_directory_that_lacks_something_is_opened_again(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "outer")
    git(tmp_path / "outer", "init", "-q", "inner")
    inner = tmp_path / "outer" / "inner"
    (inner / "deep").mkdir()
    assert git_folder.unopened(inner / "deep") is None
    (inner / ".git" / "HEAD").unlink()
    shutil.rmtree(inner / ".git" / "refs")
    assert git_folder.unopened(tmp_path / "outer") is None
    assert git_folder.unopened(inner / "deep") == (inner / ".git").resolve()  # and not the one around it
    assert [fault.what for fault in git_folder.faults(inner / ".git")] == ["HEAD", "refs"]
    assert [fault.done for fault in git_folder.open_again(inner / ".git")] == ["made again"]
    assert git_folder.unopened(inner) is None
    (tmp_path / "mine" / "objects" / "info").mkdir(parents=True)
    (tmp_path / "mine" / "config").write_text("colour = red\n")
    assert git_folder.unopened(tmp_path / "mine") is None
