from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.builders import git, make_store
from tests.hooking import plain_repository, write_page
from xpstore.cli.main import run


@pytest.fixture
def loc(tmp_path, monkeypatch):
    loc = make_store(tmp_path / "store")
    monkeypatch.chdir(loc.repo.place)
    return loc


def hook(monkeypatch, *args, stdin=b""):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
    return run(["hook", *args])


@pytest.mark.parametrize("name", ["pre-commit", "pre-merge-commit"])
def test_a_commit_is_checked(loc, monkeypatch, capsys, name):
    assert hook(monkeypatch, name) == 0
    write_page(loc.repo.place, "b c")
    assert hook(monkeypatch, name) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: experiences/b c.md: invalid experience name 'b c': ' ' is not allowed",
        "hint: use letters and digits of any script, `-` and `_`, at most 64 characters",
    ]


def test_a_warning_stops_nothing(loc, monkeypatch, capsys):
    write_page(loc.repo.place, "a", "See [b](b.md).")
    assert hook(monkeypatch, "pre-commit") == 0
    assert capsys.readouterr().err == "warning: experiences/a.md: there is no b.md\nhint: correct the link\n"


def test_a_message_is_checked(loc, monkeypatch):
    (loc.repo.place / "m").write_text("x\n\nPlan-Id: y\n")
    assert hook(monkeypatch, "commit-msg", "m") == 1


def test_a_push_is_checked_as_the_setting_says(loc, monkeypatch, capsys):
    old = loc.repo.resolve("HEAD")
    write_page(loc.repo.place, "a")
    git(loc.repo.place, "commit", "-q", "-m", "a")
    stdin = f"refs/heads/main {loc.repo.resolve('HEAD')} refs/heads/main {old}\n".encode()
    assert hook(monkeypatch, "pre-push", "origin", "url", stdin=stdin) == 0
    assert "warning: no gate has accepted" in capsys.readouterr().err
    git(loc.repo.place, "config", "xp.ungatedPush", "block")
    assert hook(monkeypatch, "pre-push", "origin", "url", stdin=stdin) == 1
    git(loc.repo.place, "config", "xp.ungatedPush", "sometimes")
    assert hook(monkeypatch, "pre-push", "origin", "url", stdin=stdin) == 2


def test_a_merge_is_told(loc, monkeypatch, capsys):
    git(loc.repo.place, "checkout", "-q", "-b", "side")
    write_page(loc.repo.place, "a")
    git(loc.repo.place, "commit", "-q", "-m", "a")
    git(loc.repo.place, "checkout", "-q", "main")
    git(loc.repo.place, "merge", "-q", "side")
    assert hook(monkeypatch, "post-merge", "0") == 0
    assert capsys.readouterr().err == "1 experience changed: a\n"
    assert hook(monkeypatch, "post-merge", "1") == 0  # --squash has merged nothing yet
    assert capsys.readouterr().err == ""


def test_a_repository_without_a_store_is_left_alone(tmp_path, monkeypatch, capsys):
    repo = plain_repository(tmp_path / "repo")
    monkeypatch.chdir(repo.place)
    write_page(repo.place, "b c")
    assert hook(monkeypatch, "pre-commit") == 0
    new = git(repo.place, "commit-tree", "-m", "x", git(repo.place, "write-tree"))
    none = "0" * 40
    assert hook(monkeypatch, "pre-receive", stdin=f"{none} {new} refs/heads/main\n".encode()) == 0
    assert hook(monkeypatch, "update", "refs/heads/main", none, new) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "args", [["pre-rebase"], ["update", "refs/heads/main"], ["commit-msg"]], ids=lambda args: args[0]
)
@pytest.mark.usefixtures("loc")
def test_what_git_would_not_call_is_wrong_use(monkeypatch, args):
    assert hook(monkeypatch, *args) == 2


@pytest.mark.usefixtures("loc")
def test_garbage_on_standard_input_is_wrong_use(monkeypatch):
    assert hook(monkeypatch, "pre-receive", stdin=b"hello\n") == 2


def test_outside_of_a_repository_it_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert hook(monkeypatch, "pre-commit") == 1


@pytest.mark.usefixtures("loc")
def test_a_commit_without_experiences_loads_no_checks():
    code = (
        "import sys; from xpstore.cli.main import run; run(['hook', 'pre-commit']);"
        "print(sorted({'pydantic', 'detect_secrets', 'trainer', 'scipy', 'yaml'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
