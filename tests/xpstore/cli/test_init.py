from __future__ import annotations

import json
import subprocess

from xpstore.cli.main import run
from xpstore.location import Location


def git(where, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=where, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_init_makes_a_repository_and_says_what_to_do_next(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["init", "lessons"]) == 0
    out = capsys.readouterr().out
    loc = Location.find(tmp_path / "lessons")
    assert loc.config.id in out
    assert "Next: xp -C lessons train FILE..." in out
    assert git(tmp_path / "lessons", "branch", "--show-current") == "main"


def test_init_in_a_repository_makes_a_prefix(tmp_path, capsys):
    git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / "work.txt").write_text("mine")
    assert run(["-C", str(tmp_path), "init", "agents/lessons", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer.keys() == {"repository", "prefix", "name", "id", "main"}
    assert (answer["prefix"], answer["main"], answer["name"]) == ("agents/lessons", "trunk", "")
    assert git(tmp_path, "status", "--porcelain") == "?? work.txt"


def test_a_second_store_has_a_name(tmp_path, capsys):
    git(tmp_path, "init", "-q", "-b", "main")
    assert run(["-C", str(tmp_path), "init", "a"]) == 0
    capsys.readouterr()
    assert run(["-C", str(tmp_path), "init", "b", "--name", "second", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "second"
    assert run(["-C", str(tmp_path), "search", "x"]) == 2
    assert "--store" in capsys.readouterr().err
    assert run(["-C", str(tmp_path), "--store", "second", "search", "x"]) == 1


def test_init_refuses_what_is_a_store(tmp_path, capsys):
    assert run(["-C", str(tmp_path), "init"]) == 0
    capsys.readouterr()
    assert run(["-C", str(tmp_path), "init"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_an_empty_name_is_wrong_use(tmp_path, capsys):
    assert run(["-C", str(tmp_path), "init", ""]) == 2
    assert "is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
