from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.recordings import ALL, claude, lines
from xpstore.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in ALL.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def xp(*args):
    return run(["import", *args])


def test_counts_by_file_and_what_has_no_score(here, capsys):
    assert xp("atif", "inspect", "-o", "out.jsonl") == 0
    out, err = capsys.readouterr()
    assert out == (
        f"{here}/atif: ATIF: 1 rollout, 4 messages, 3 tool calls, 2 results, 1 error, 0 scores\n"
        f"{here}/inspect: Inspect: 1 rollout, 4 messages, 1 tool call, 1 result, 1 error, 1 score\n"
        f"2 rollouts in {here}/out.jsonl\n"
    )
    assert err.startswith("1 rollout has no score: what tools refuse is learned, how tasks end is not (")
    assert err.count("\n") == 1
    assert len((here / "out.jsonl").read_text().splitlines()) == 2


def test_json(here, capsys):
    (here / "odd.jsonl").write_text(lines([*claude("x"), {"type": "brand-new"}]) + "{\n")
    (here / "scores.csv").write_text("id,score\nx,1\nghost,1\n")
    assert xp("odd.jsonl", "odd.jsonl", "claude-code", "-n", "--scores", "scores.csv", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert {k: answer[k] for k in ("output", "dry_run", "rollouts", "unscored")} == {
        "output": None,
        "dry_run": True,
        "rollouts": 2,
        "unscored": 1,
    }
    assert answer["files"][f"{here}/odd.jsonl"]["formats"] == {"Claude Code": 1}
    kinds = [(row["kind"], row["line"]) for row in answer["problems"]]
    assert kinds == [("warning", 6), ("broken", 7), ("broken", 7), ("score", 3)]
    assert sorted(path.name for path in here.iterdir()) == sorted([*ALL, "odd.jsonl", "scores.csv"])


def test_problems_are_told_by_kind(here, capsys):
    (here / "odd.jsonl").write_text(lines([*claude("x"), {"type": "brand-new"}]) + "{\n" * 9)
    assert xp("odd.jsonl", "swe-agent", "swe-agent", "-n") == 0
    out, err = capsys.readouterr()
    assert out.endswith("2 rollouts would be written\n")
    assert "Skipped 9 records:\n" in err
    assert "  and 4 more (--json lists all)\n" in err
    assert "The same again, and left out: 1 record\n" in err
    assert "Read all the same:\n" in err


@pytest.mark.usefixtures("here")
def test_standard_output_has_the_rollouts_and_nothing_else(capfdbinary):
    assert xp("atif", "tau2", "-o", "-") == 0
    out, err = capfdbinary.readouterr()
    found = [json.loads(line)["metadata"]["source"] for line in out.splitlines()]
    assert sorted(found) == ["ATIF", "tau2", "tau2"]
    assert b"infrastructure_error" in err


def test_secrets_are_masked(here):
    (here / "claude-code").write_text(lines(claude(question=f"My token is {SECRET}.")))
    assert xp("claude-code", "-o", "out.jsonl") == 0
    assert SECRET not in (here / "out.jsonl").read_text()
    assert "github-token" in (here / "out.jsonl").read_text()


def test_nothing_to_import_leaves_the_file_as_it_was(here, capsys):
    (here / "out.jsonl").write_text("before")
    (here / "empty").write_text("{}")
    assert xp("empty", "-o", "out.jsonl") == 2
    assert (here / "out.jsonl").read_text() == "before"
    assert "no rollout was found" in capsys.readouterr().err
    assert not [path for path in here.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("atif",), "where shall the rollouts go?"),
        (("atif", "-o", "-", "--json"), "both write to standard output"),
        (("atif", "-o", "atif"), "is one of the files to read"),
        (("atif", "-o", "."), "is a directory"),
        (("atif", "-o", "none/out"), "there is no folder"),
        (("none", "-n"), "there is no file 'none'"),
        (("atif", "-n", "--format", "xml"), "there is no format 'xml'"),
        (("atif", "-n", "--format", "tau2"), "this is no record of tau2, but one of atif"),
        (("atif", "-n", "--scores", "none"), "there is no file 'none'"),
        (("atif", "-n", "--scores", "claude-code"), "is not JSON"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_use(capsys, args, why):
    assert xp(*args) == 2
    captured = capsys.readouterr()
    assert why in captured.out + captured.err
