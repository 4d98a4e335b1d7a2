from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.cli.hooks import program
from tests.builders import git, make_store
from tests.hooking import attempt, picture, plain_repository
from xpstore.cli.main import run


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "store")


def asked(capsys, *args):
    code = run(args)
    return code, json.loads(capsys.readouterr().out)


def test_install_doctor_uninstall(loc, capsys):
    where = ("-C", str(loc.repo.place), "hooks")
    before = picture(loc.repo.place)
    assert run([*where, "install"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "installed pre-commit",
        "installed pre-merge-commit",
        "installed commit-msg",
        "installed pre-push",
        "installed post-merge",
        "changed   merge driver",
        "changed   attributes",
    ]
    code, said = asked(capsys, *where, "doctor", "--json")
    assert code == 0
    assert said["merging"] == {".": {"driver": True, "attributes": True, "effective": True}}
    assert [hook["effective"] for hook in said["hooks"]] == [True] * 5
    (loc.repo.common_dir / "hooks" / "pre-push").unlink()
    assert run([*where, "doctor"]) == 1
    out = capsys.readouterr().out
    assert "  pre-push         declared  not registered  resolvable  not effective\n" in out
    assert "    there is no file: " in out
    assert "Pages of the store in . are merged by statement\n" in out
    code, said = asked(capsys, *where, "uninstall", "--json")
    assert (code, said["drivers"], len(said["hooks"])) == (0, ["attributes", "merge driver"], 4)
    assert picture(loc.repo.place) == before
    run([*where, "doctor"])
    assert "none of ours" in capsys.readouterr().out


def test_the_hook_that_is_installed_is_found_by_git_and_starts_this_xp(loc, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert Path(program()).is_file()
    assert run(["-C", str(loc.repo.place), "hooks", "install", "--hook", "commit-msg", "--no-drivers"]) == 0
    code, said = attempt(loc.repo.place, "commit", "--allow-empty", "-m", "Try\n\nPlan-Id: x")
    assert code == 1
    assert said.startswith("error: Plan-Id is 'x'; it must be an id")
    assert attempt(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Try") == (0, "")


def test_a_repository_without_a_store_can_have_hooks(tmp_path, capsys):
    repo = plain_repository(tmp_path / "plain")
    code, said = asked(capsys, "-C", str(repo.place), "hooks", "install", "--json")
    assert (code, said["drivers"]) == (0, [])
    assert {hook["action"] for hook in said["hooks"]} == {"installed"}


def test_a_server_has_one_hook_and_no_drivers(tmp_path, capsys):
    repo = plain_repository(tmp_path / "server.git", "--bare")
    code, said = asked(capsys, "-C", str(repo.git_dir), "hooks", "install", "--server", "--json")
    assert code == 0
    assert said == {"hooks": [{"hook": "pre-receive", "action": "installed", "kept": ""}], "drivers": []}
    assert run(["-C", str(repo.git_dir), "hooks", "install", "--server"]) == 0
    said = capsys.readouterr().out
    assert "git config xp.allowedSigners FILE" in said
    assert "git config xp.signGates true" in said


def test_nothing_is_merged_in_a_bare_repository(tmp_path, capsys):
    place = make_store(tmp_path / "s").repo.place
    git(tmp_path, "clone", "-q", "--bare", str(place), "bare.git")
    code, said = asked(capsys, "-C", str(tmp_path / "bare.git"), "hooks", "doctor", "--json")
    assert (code, said["merging"]) == (0, {})


def test_outside_of_a_repository_there_is_nothing_to_install_into(tmp_path, capsys):
    assert run(["-C", str(tmp_path), "hooks", "install"]) == 2
    assert "is in no git repository" in capsys.readouterr().err
