from __future__ import annotations

from pathlib import Path

import pytest

from hooks.cli.opening import hooked_repository, repository, variable
from tests.builders import git
from tests.hooking import plain_repository
from xpstore.cli.app import App
from xpstore.errors import NotAStoreError


def test_a_hook_works_on_the_repository_that_git_names_and_not_on_the_one_around_it(tmp_path, monkeypatch):
    one, other = (plain_repository(tmp_path / name) for name in ("one", "other"))
    assert hooked_repository(one.place).git_dir == one.git_dir
    monkeypatch.setenv("GIT_DIR", str(other.git_dir))
    assert hooked_repository(one.place).git_dir == other.git_dir
    monkeypatch.setenv("GIT_DIR", ".git")
    assert hooked_repository(one.place).git_dir == one.git_dir


def test_a_linked_working_tree_is_its_own(tmp_path, monkeypatch):
    main = plain_repository(tmp_path / "main")
    git(main.place, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(main.place, "worktree", "add", "-q", str(tmp_path / "linked"))
    monkeypatch.setenv("GIT_DIR", str(main.git_dir / "worktrees" / "linked"))
    found = hooked_repository(tmp_path / "linked")
    assert (found.workdir, found.common_dir) == (tmp_path / "linked", main.common_dir)


def test_paths_in_variables_are_seen_from_where_git_started_the_hook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert variable("GIT_INDEX_FILE") == tmp_path / ".git/index"
    monkeypatch.setenv("GIT_INDEX_FILE", "/elsewhere/index")
    assert variable("GIT_INDEX_FILE") == Path("/elsewhere/index")
    monkeypatch.setenv("GIT_INDEX_FILE", "")
    assert variable("GIT_INDEX_FILE") is None


def test_hooks_are_installed_into_the_repository_around_the_directory(tmp_path):
    repo = plain_repository(tmp_path / "one")
    assert repository(App(repo.place)).git_dir == repo.git_dir
    with pytest.raises(NotAStoreError):
        repository(App(tmp_path))
