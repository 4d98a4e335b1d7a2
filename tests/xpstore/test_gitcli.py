from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tests.builders import git
from xpstore import gitcli
from xpstore.errors import RepositoryError


def test_environment_cannot_redirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q", "here")
    git(tmp_path, "init", "-q", "other")
    for key in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_EXTERNAL_DIFF"):
        monkeypatch.setenv(key, str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    out = gitcli.run(tmp_path / "here", ["rev-parse", "--show-toplevel"]).decode().strip()
    assert Path(out) == tmp_path / "here"
    env = gitcli.environment({"GIT_INDEX_FILE": "mine"})
    assert env["GIT_INDEX_FILE"] == "mine"
    assert "GIT_DIR" not in env
    assert env["GIT_CONFIG_GLOBAL"]


def test_no_hook_runs(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    hook = tmp_path / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (tmp_path / "a").write_text("a")
    gitcli.run(tmp_path, ["add", "a"])
    assert not (tmp_path / "ran").exists()


def test_paths_are_literal(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "*").write_text("a")
    (tmp_path / "b").write_text("b")
    gitcli.run(tmp_path, ["add", "--", "*"])
    assert gitcli.records(gitcli.run(tmp_path, ["ls-files", "-z"])) == ["*"]


def test_failures_say_what_and_where(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match=r"git rev-parse failed in .*: not a git repository"):
        gitcli.run(tmp_path, ["rev-parse", "HEAD"])
    with pytest.raises(RepositoryError, match=r"the folder .*missing is gone") as gone:
        gitcli.run(tmp_path / "missing", ["version"])
    assert "PATH" not in gone.value.hint
    assert gitcli.attempt(tmp_path, ["rev-parse", "HEAD"]).code == 128


def test_input_and_raw_names(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert gitcli.run(tmp_path, ["hash-object", "--stdin"], stdin=b"").startswith(b"e69de29")
    assert gitcli.records("ü\0a b\0".encode() + b"\xff\0") == ["ü", "a b", "\udcff"]


def test_git_in_the_background_keeps_a_lock_until_it_ends(tmp_path: Path) -> None:
    gitcli.run(tmp_path, ["init", "-q"])
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    held = tmp_path / "held"
    handle = os.open(held, os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    commands = [["hash-object", "-w", "--no-filters", "fifo"], ["config", "a.b", "it's done"], ["none"]]
    assert gitcli.start(tmp_path, commands, holding=handle)
    os.close(handle)
    with held.open() as again:
        with fifo.open("wb"), pytest.raises(BlockingIOError):  # git reads it, and waits for its end
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(again, fcntl.LOCK_EX)
    assert gitcli.run(tmp_path, ["config", "a.b"]) == b"it's done\n"
    assert not gitcli.start(tmp_path / "none", [["version"]], holding=0)


def test_objects_of_another_folder_are_read_as_long_as_they_are_lent_and_by_no_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "here")
    odd = tmp_path / 'we"ird: \\ ü'
    git(tmp_path, "init", "-q", str(odd))
    (odd / "file").write_text("lent")
    blob = git(odd, "hash-object", "-w", "file")
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(odd / ".git" / "objects"))
    asked = ["cat-file", "blob", blob]
    assert gitcli.attempt(tmp_path / "here", asked).code != 0
    with gitcli.lending(odd / ".git" / "objects"):
        assert gitcli.run(tmp_path / "here", asked) == b"lent"
    assert gitcli.attempt(tmp_path / "here", asked).code != 0


def test_settings_of_the_user_are_those_that_no_clone_carries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gitcli.own_settings("xp.some") == ()
    git(tmp_path, "init", "-q")
    (tmp_path / "shared").write_text("[xp]\n some = included\n")
    git(tmp_path, "config", "include.path", "../shared")
    git(tmp_path, "config", "xp.some", "of the repository")
    (tmp_path / "system").write_text("[xp]\n some = of the machine\n")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(tmp_path / "system"))
    monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
    for value in ("a b", "two\nlines", ""):
        git(tmp_path, "config", "--global", "--add", "xp.some", value)
    monkeypatch.chdir(tmp_path)
    assert gitcli.own_settings("xp.some") == ("of the machine", "a b", "two\nlines", "")
    (tmp_path / ".git" / "config").write_text("[xp\n")
    with pytest.raises(RepositoryError, match="git config failed"):
        gitcli.own_settings("xp.some")
