from __future__ import annotations

import os
from pathlib import Path

import pytest

from hooks import install, shim
from tests.builders import git
from tests.hooking import attempt, opened, picture, plain_repository, script, stand_in
from xpstore.errors import RefusedError, UsageError

PYTHON = "#!/usr/bin/env python3\nimport sys\nsys.exit('no' if 'stop' in open('file').read() else 0)\n"


def actions(steps):
    return [(step.hook, step.action) for step in steps]


@pytest.mark.parametrize("path", ["", ".husky/_", ".git/my hooks"])
def test_uninstall_leaves_no_trace_of_install_whichever_folder_git_uses(tmp_path, path):
    repo = plain_repository(tmp_path / "repo")
    if path:
        git(repo.place, "config", "core.hooksPath", path)
    where = repo.place / (path or ".git/hooks")
    script(where / "pre-commit", PYTHON, 0o750)
    script(where / "commit-msg", "#!/bin/sh\n", 0o644)  # not executable: git ignores it
    before = picture(repo.place)
    steps = install.install(repo, shim.CLIENT, "xp")
    assert dict(actions(steps)) == {
        "pre-commit": "chained",
        "pre-merge-commit": "installed",
        "commit-msg": "chained",
        "pre-push": "installed",
        "post-merge": "installed",
    }
    once = picture(repo.place)
    assert {action for _, action in actions(install.install(repo, shim.CLIENT, "xp"))} == {"unchanged"}
    assert picture(repo.place) == once
    install.uninstall(repo)
    assert picture(repo.place) == before
    assert install.uninstall(repo) == []


def test_a_python_hook_that_was_there_still_decides(tmp_path, monkeypatch):
    said = stand_in(tmp_path, monkeypatch)
    repo = plain_repository(tmp_path / "repo")
    script(repo.common_dir / "hooks" / "pre-commit", PYTHON)
    install.install(repo, ["pre-commit"], "xp")
    (repo.place / "file").write_text("stop")
    git(repo.place, "add", "file")
    assert attempt(repo.place, "commit", "-q", "-m", "Try") == (1, "no\n")
    assert said.read_text() == ""
    (repo.place / "file").write_text("go")
    assert attempt(repo.place, "commit", "-q", "-a", "-m", "Try") == (0, "")
    assert said.read_text() == "hook pre-commit\n"


def test_a_husky_hook_still_finds_the_projects_own_script(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch)
    repo = plain_repository(tmp_path / "repo")
    git(repo.place, "config", "core.hooksPath", ".husky/_")
    folder = repo.place / ".husky" / "_"
    script(folder / "pre-commit", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    look = 'n=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\n[ ! -f "$s" ] && exit 0\nsh -e "$s" "$@"\n'
    script(folder / "h", look)
    script(repo.place / ".husky" / "pre-commit", "echo the project says no; exit 1\n")
    install.install(repo, ["pre-commit"], "xp")
    assert attempt(repo.place, "commit", "--allow-empty", "-m", "Try") == (1, "the project says no\n")


def test_a_backup_of_somebody_else_is_never_overwritten(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    folder = repo.common_dir / "hooks"
    for name in ("pre-commit", "pre-commit.old", "pre-commit.legacy", "pre-commit.xpstore-1"):
        script(folder / name, f"#!/bin/sh\necho {name}\n")
    before = picture(folder)
    steps = install.install(repo, ["pre-commit"], "xp")
    assert steps == [install.Step("pre-commit", "chained", "pre-commit.xpstore-2")]
    assert picture(folder).items() >= {(k, v) for k, v in before.items() if k != "pre-commit"}
    assert install.uninstall(repo)[0] == install.Step("pre-commit", "restored", "pre-commit.xpstore-2")
    assert picture(folder) == before


def test_a_hook_that_is_a_link_stays_one(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch)
    repo = plain_repository(tmp_path / "repo")
    script(repo.place / "tools" / "check", "#!/bin/sh\necho linked\nexit 1\n")
    link = repo.common_dir / "hooks" / "pre-commit"
    link.parent.mkdir()
    link.symlink_to("../../tools/check")
    install.install(repo, ["pre-commit"], "xp")
    assert attempt(repo.place, "commit", "--allow-empty", "-m", "Try") == (1, "linked\n")
    assert (repo.place / "tools" / "check").read_text() == "#!/bin/sh\necho linked\nexit 1\n"
    install.uninstall(repo)
    assert link.readlink() == Path("../../tools/check")


def test_an_installation_that_was_stopped_goes_on_where_it_was(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    file = script(repo.common_dir / "hooks" / "pre-commit", PYTHON)
    os.link(file, file.with_name("pre-commit.xpstore-1"))  # the second name is there, the shim is not
    assert install.install(repo, ["pre-commit"], "xp")[0].kept == "pre-commit.xpstore-1"
    install.uninstall(repo)
    assert picture(file.parent) == {"pre-commit": (0o100755, PYTHON.encode())}


@pytest.mark.parametrize("renewed", [False, True])
def test_what_an_installation_left_that_was_stopped_before_its_shim_was_there_goes(tmp_path, renewed):
    repo = plain_repository(tmp_path / "repo")
    file = script(repo.common_dir / "hooks" / "pre-commit", PYTHON)
    before = picture(file.parent)
    if renewed:
        install.install(repo, ["pre-commit"], "xp")
    else:
        os.link(file, file.with_name("pre-commit.xpstore-1"))
    text = shim.render("pre-commit", "elsewhere/xp", "pre-commit.xpstore-1", PYTHON.encode())
    script(file.with_name(".pre-commit.xpstore-draft"), text)
    assert actions(install.uninstall(repo)) == [("pre-commit", "restored")]
    assert picture(file.parent) == before


def test_another_installer_that_moves_our_shim_away_loses_nothing(tmp_path, monkeypatch):
    said = stand_in(tmp_path, monkeypatch)
    repo = plain_repository(tmp_path / "repo")
    folder = repo.common_dir / "hooks"
    script(folder / "pre-commit", "#!/bin/sh\necho first\n")
    install.install(repo, ["pre-commit"], "xp")
    (folder / "pre-commit").rename(folder / "pre-commit.legacy")
    theirs = '#!/bin/sh\nexec "$(dirname "$0")/pre-commit.legacy" "$@"\n'
    script(folder / "pre-commit", theirs)
    assert attempt(repo.place, "commit", "-q", "--allow-empty", "-m", "Try") == (0, "first\n")
    assert said.read_text() == "hook pre-commit\n"
    install.uninstall(repo)
    assert picture(folder) == {
        "pre-commit": (0o100755, theirs.encode()),
        "pre-commit.legacy": (0o100755, b"#!/bin/sh\necho first\n"),
    }


def test_a_hook_that_somebody_overwrote_us_with_is_chained_and_the_older_one_is_not_lost(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    folder = repo.common_dir / "hooks"
    script(folder / "pre-commit", "#!/bin/sh\necho old\n")
    install.install(repo, ["pre-commit"], "xp")
    script(folder / "pre-commit", "#!/bin/sh\necho new\n")
    assert install.orphans(folder) == ["pre-commit.xpstore-1"]
    assert install.install(repo, ["pre-commit"], "xp")[0].kept == "pre-commit.xpstore-2"
    steps = install.uninstall(repo)
    assert actions(steps) == [("pre-commit", "restored"), ("pre-commit", "left")]
    assert (folder / "pre-commit").read_text() == "#!/bin/sh\necho new\n"
    assert (folder / "pre-commit.xpstore-1").read_text() == "#!/bin/sh\necho old\n"
    (folder / "pre-commit").unlink()
    assert actions(install.uninstall(repo)) == [("pre-commit", "restored")]


def test_a_shim_of_another_version_is_renewed_with_what_it_keeps(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    file = script(repo.common_dir / "hooks" / "pre-commit", PYTHON)
    install.install(repo, ["pre-commit"], "xp")
    file.write_text(file.read_text().replace("xpstore-shim 1", "xpstore-shim 0"))
    steps = install.install(repo, ["pre-commit"], "xp")
    assert steps == [install.Step("pre-commit", "renewed", "pre-commit.xpstore-1")]
    file.chmod(0o644)
    assert actions(install.install(repo, ["pre-commit"], "xp")) == [("pre-commit", "renewed")]
    assert os.access(file, os.X_OK)


def test_a_global_folder_is_not_written_to_without_being_told(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    everybodys = tmp_path / "all"
    git(tmp_path, "config", "--global", "core.hooksPath", str(everybodys))
    with pytest.raises(RefusedError, match="run by all your repositories") as refused:
        install.install(repo, shim.CLIENT, "xp")
    assert "--shared" in refused.value.hint
    assert not everybodys.exists()
    install.install(repo, ["commit-msg"], "xp", shared=True)
    assert [file.name for file in everybodys.iterdir()] == ["commit-msg"]
    with pytest.raises(RefusedError, match="run by all your repositories"):
        install.uninstall(plain_repository(tmp_path / "other"))
    assert actions(install.uninstall(repo, shared=True)) == [("commit-msg", "removed")]


def test_a_folder_that_git_looks_at_no_more_is_cleared_too(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    file = script(repo.common_dir / "hooks" / "pre-commit", PYTHON)
    install.install(repo, ["pre-commit"], "xp")
    git(repo.place, "config", "core.hooksPath", ".husky/_")
    assert actions(install.uninstall(repo)) == [("pre-commit", "restored")]
    assert picture(file.parent) == {"pre-commit": (0o100755, PYTHON.encode())}


def test_a_hook_that_is_a_file_of_the_project_is_not_moved_without_being_told(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    git(repo.place, "config", "core.hooksPath", "tools/hooks")
    script(repo.place / "tools/hooks/pre-commit", PYTHON)
    git(repo.place, "add", "tools")
    with pytest.raises(RefusedError, match="a file of the project") as refused:
        install.install(repo, shim.CLIENT, "xp")
    assert 'xp hook pre-commit "$@"' in refused.value.hint
    assert git(repo.place, "status", "--short") == "A  tools/hooks/pre-commit"


def test_a_linked_working_tree_and_a_server_have_the_hooks_of_their_repository(tmp_path, monkeypatch):
    said = stand_in(tmp_path, monkeypatch)
    main = plain_repository(tmp_path / "main")
    git(main.place, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(main.place, "worktree", "add", "-q", str(tmp_path / "linked"))
    install.install(opened(tmp_path / "linked"), ["pre-commit"], "xp")
    git(main.place, "commit", "-q", "--allow-empty", "-m", "Here")
    git(tmp_path / "linked", "commit", "-q", "--allow-empty", "-m", "There")
    server = plain_repository(tmp_path / "server.git", "--bare")
    with pytest.raises(UsageError, match="nobody commits there"):
        install.install(server, shim.CLIENT, "xp")
    install.install(server, shim.SERVER, "xp")
    git(main.place, "push", "-q", str(server.place), "main")
    told = said.read_text().splitlines()
    assert told[:3] == ["hook pre-commit", "hook pre-commit", "hook pre-receive"]
    assert told[3].endswith(" refs/heads/main")


def test_what_is_installed_is_declared_so_that_a_loss_shows(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    install.install(repo, ["pre-push"], "xp")
    install.install(repo, ["pre-commit"], "xp")
    assert install.declared_here(repo) == ["pre-commit", "pre-push"]
    git(repo.place, "config", "xp.ungatedPush", "block")
    install.uninstall(repo)
    assert install.declared_here(repo) == []
    assert git(repo.place, "config", "xp.ungatedPush") == "block"


def test_a_folder_in_the_place_of_a_hook_is_named(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    (repo.common_dir / "hooks" / "pre-commit").mkdir(parents=True)
    with pytest.raises(RefusedError, match="is a folder"):
        install.install(repo, ["pre-commit"], "xp")


DISPATCHER = """#!/usr/bin/env python3
import os, sys
import beside
print(beside.WORD, os.path.basename(sys.argv[0]), sys.argv[1:])
"""


def test_a_program_that_asks_for_its_name_is_told_the_one_it_had(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch)
    repo = plain_repository(tmp_path / "repo")
    where = repo.common_dir / "hooks"
    script(where / "pre-commit", DISPATCHER)
    script(repo.place / "tools" / "dispatch", DISPATCHER)
    (where / "commit-msg").symlink_to("../../tools/dispatch")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for folder in (where, repo.place / "tools"):
        (folder / "beside.py").write_text(f"WORD = {folder.name!r}")
    before = picture(repo.common_dir)
    install.install(repo, ["pre-commit", "commit-msg"], "xp")
    code, out = attempt(repo.place, "commit", "-q", "--allow-empty", "-m", "Try")
    assert (code, out) == (0, "hooks pre-commit []\ntools commit-msg ['.git/COMMIT_EDITMSG']\n")
    install.uninstall(repo)
    assert (where / "commit-msg").readlink() == Path("../../tools/dispatch")
    after = picture(repo.common_dir)
    assert {name: after[name] for name in before} == before


def test_a_shim_that_was_kept_by_mistake_is_seen_through(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    where = repo.common_dir / "hooks"
    script(where / "pre-commit", PYTHON)
    before = picture(where)
    install.install(repo, ["pre-commit"], "xp")
    (where / "pre-commit").rename(where / "pre-commit.xpstore-2")
    script(where / "pre-commit", shim.render("pre-commit", "xp", "pre-commit.xpstore-2"))
    install.uninstall(repo)
    assert picture(where) == before


def test_a_server_takes_pushes_as_packs_as_long_as_its_hooks_are_there(tmp_path):
    repo = plain_repository(tmp_path / "s.git", "--bare")
    before = picture(repo.git_dir)
    install.install(repo, shim.SERVER, "xp")
    assert git(repo.place, "config", "receive.unpackLimit") == "1"
    install.uninstall(repo)
    assert picture(repo.git_dir) == before
