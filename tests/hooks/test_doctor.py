from __future__ import annotations

import pytest

from hooks import doctor, install
from tests.builders import git
from tests.hooking import plain_repository, script, stand_in


@pytest.fixture
def repo(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch)
    made = plain_repository(tmp_path / "repo")
    install.install(made, ["pre-commit"], "xp")
    return made


def said(repo, program="/nowhere/xp"):
    report = doctor.examine(repo, program)
    (hook,) = report.hooks
    return (hook.declared, hook.registered, hook.resolvable, hook.effective), hook, report


def test_what_is_in_order(repo):
    answers, hook, report = said(repo)
    assert answers == (True, True, True, True)
    assert (hook.problems, hook.is_lost, report.left_over) == ((), False, ())


def test_a_hook_that_somebody_overwrote_is_declared_and_not_registered(repo):
    file = repo.common_dir / "hooks" / "pre-commit"
    script(file, "#!/bin/sh\n")
    answers, hook, _ = said(repo)
    assert answers == (True, False, True, False)
    assert hook.is_lost
    assert hook.problems == (f"somebody has put another hook there: {file}",)


def test_hooks_path_that_points_elsewhere_is_seen(repo):
    git(repo.place, "config", "core.hooksPath", ".husky/_")
    answers, hook, report = said(repo)
    assert answers == (True, False, True, False)
    assert hook.problems == (f"there is no file: {repo.place / '.husky/_/pre-commit'}",)
    assert report.folder.scope == "local"


def test_a_file_that_git_ignores_is_registered_and_not_effective(repo):
    (repo.common_dir / "hooks" / "pre-commit").chmod(0o644)
    answers, hook, _ = said(repo)
    assert answers == (True, True, True, False)
    assert "is not executable" in hook.problems[0]


def test_a_shim_without_xp_is_not_resolvable(repo, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    answers, hook, _ = said(repo)
    assert answers == (True, True, False, False)
    assert hook.problems == ("xp is not on PATH",)


def test_a_hook_that_came_with_a_copied_folder_was_never_declared_here(repo):
    git(repo.place, "config", "--unset", "xp.hooks")
    answers, hook, _ = said(repo)
    assert answers == (False, True, True, True)
    assert not hook.is_lost


def test_a_shim_of_another_version_is_told(repo):
    file = repo.common_dir / "hooks" / "pre-commit"
    file.write_text(file.read_text().replace("xpstore-shim 1", "xpstore-shim 2"))
    answers, hook, _ = said(repo)
    assert answers == (True, True, True, False)
    assert hook.problems == ("it is of another version of xp",)


def test_what_nothing_runs_any_more_is_listed(repo):
    folder = repo.common_dir / "hooks"
    script(folder / "commit-msg", "#!/bin/sh\n")
    install.install(repo, ["commit-msg"], "xp")
    (folder / "commit-msg").unlink()
    (folder / "pre-commit").rename(folder / "pre-commit.legacy")
    report = doctor.examine(repo, "xp")
    assert report.left_over == ("commit-msg.xpstore-1", "pre-commit.legacy")
    (folder / "pre-commit.legacy").rename(folder / "pre-commit")
    (folder / "commit-msg.xpstore-1").unlink()
    script(folder / "commit-msg", "#!/bin/sh\n")
    install.install(repo, ["commit-msg"], "xp")
    (folder / "commit-msg.xpstore-1").unlink()
    problems = {hook.hook: hook.problems for hook in doctor.examine(repo, "xp").hooks}
    assert problems["commit-msg"] == ("the hook that was there before is gone: commit-msg.xpstore-1",)
