from __future__ import annotations

import pytest

from hooks import folder
from tests.builders import git
from tests.hooking import opened, plain_repository
from xpstore.errors import UsageError


def as_git_says(where):
    return (where / git(where, "rev-parse", "--git-path", "hooks")).resolve()


@pytest.mark.parametrize("value", ["", ".husky/_", "~/hooks", "../elsewhere"])
@pytest.mark.parametrize("kind", ["plain", "bare", "linked"])
def test_the_folder_is_the_one_that_git_uses(tmp_path, kind, value):
    where = tmp_path / "repo"
    plain_repository(where, *(["--bare"] if kind == "bare" else []))
    if kind == "linked":
        git(where, "commit", "-q", "--allow-empty", "-m", "Begin")
        git(where, "worktree", "add", "-q", str(tmp_path / "linked"))
        where = tmp_path / "linked"
    if value:
        git(where, "config", "core.hooksPath", value)
    found = folder.find(opened(where))
    assert found.path.resolve() == as_git_says(where)
    assert found.scope == ("local" if value else "default")


def test_a_folder_for_all_repositories_is_known_as_one(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    git(tmp_path, "config", "--global", "core.hooksPath", str(tmp_path / "all"))
    found = folder.find(repo)
    assert (found.scope, found.shared_with) == ("global", "all your repositories")
    git(repo.place, "config", "core.hooksPath", ".git/hooks")
    assert folder.find(repo) == folder.Folder(repo.place / ".git/hooks", "local")


def test_a_folder_outside_of_the_repository_may_be_somebody_elses(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    (tmp_path / "team").mkdir()
    (repo.common_dir / "hooks").symlink_to(tmp_path / "team")
    assert folder.find(repo).shared_with == "whoever else uses that folder"


def test_a_file_of_the_project_is_told_from_one_beside_it(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    for name in ("ours", "mine"):
        (repo.place / name).touch()
    git(repo.place, "add", "ours")
    assert folder.is_tracked(repo, repo.place / "ours")
    assert not folder.is_tracked(repo, repo.place / "mine")
    assert not folder.is_tracked(repo, tmp_path / "ours")


def test_an_empty_folder_name_is_refused_git_would_run_what_lies_at_the_root_of_the_machine(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    git(repo.place, "config", "core.hooksPath", "")
    assert git(repo.place, "rev-parse", "--git-path", "hooks/pre-commit") == "/pre-commit"
    with pytest.raises(UsageError, match=r"core\.hooksPath is empty \(local configuration\)") as refused:
        folder.find(repo)
    assert refused.value.hint == "git config --local --unset core.hooksPath uses the usual folder"
