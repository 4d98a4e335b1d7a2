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
    keys = {"repository", "prefix", "name", "id", "main", "experiences", "suites", "left_out"}
    assert answer.keys() == keys
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


def make_source(path):
    (path / "experiences").mkdir(parents=True)
    (path / "cases").mkdir()
    (path / "experiences" / "refund.md").write_text("# Refund\n\n- Ask why.\n")
    (path / "cases" / "test.jsonl").write_text('{"name": "one"}\n')
    (path / "xp.toml").write_text('[environment]\nname = "order-desk"\n')
    for number in range(7):
        (path / f"note-{number}.txt").write_text("x")
    return path


def test_init_from_a_folder_of_plain_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_source(tmp_path / "sample")
    assert run(["init", "desk", "--from", "sample"]) == 0
    made, begins, left, then = capsys.readouterr().out.splitlines()
    assert made.startswith("Made the store ")
    assert begins == "It begins with 1 experience, suites of cases: test"
    assert left == "Left out: note-0.txt, note-1.txt, note-2.txt, note-3.txt, note-4.txt and 2 more"
    assert then == "Next: xp -C desk eval"
    assert git(tmp_path / "desk", "status", "--short") == ""
    assert run(["init", "other", "--from", "sample", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["experiences"], answer["suites"], len(answer["left_out"])) == (["refund"], ["test"], 7)


def test_init_from_what_is_wrong_makes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = make_source(tmp_path / "sample")
    (source / "cases" / "test.jsonl").write_text('{"name": "one"}\noops\n')
    for folder in ("sample", "none", ""):
        assert run(["init", "desk", "--from", folder]) == 2
        assert capsys.readouterr().err.startswith("error: ")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["sample"]
