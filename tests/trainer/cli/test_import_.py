from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.recordings import ALL, claude, eval_file, inspect, lines, sample
from trainer.cli import import_
from trainer.importers.detect import NAMES
from xpstore.cli.main import run

ROOT = Path(__file__).resolve().parents[3]
SAID = [{"role": "user", "content": "x"}]
CHAT = {"messages": SAID, "score": 1}
TAU_BENCH = {"task_id": 1, "reward": 1, "info": {"task": {}}, "traj": SAID}
RFC = {
    "case": {"name": "c", "rubric": {"name": "r"}},
    "messages": [{"role": "user", "parts": []}],
    "evaluation": {"passed": True, "score": 1},
}
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
        "atif: ATIF: 1 rollout, 4 messages, 3 tool calls, 2 results, 1 error, 0 scores\n"
        "inspect: Inspect: 1 rollout, 4 messages, 1 tool call, 1 result, 1 error, 1 score\n"
        f"2 rollouts in {here}/out.jsonl\n"
    )
    assert err.startswith("1 rollout has no score: what tools refuse is learned, how tasks end is not (")
    assert err.count("\n") == 1
    assert len((here / "out.jsonl").read_text().splitlines()) == 2


def test_a_file_that_belongs_to_another_is_said_to(here, capsys):
    rows = claude("x")
    (here / "one.jsonl").write_text(lines(rows[:3]))
    (here / "two.jsonl").write_text(lines(rows[3:]))
    assert xp("one.jsonl", "two.jsonl", "-n") == 0
    assert capsys.readouterr().out == (
        "one.jsonl: Claude Code: 1 rollout, 3 messages, 1 tool call, 1 result, 1 error, 0 scores\n"
        "two.jsonl: part of what another file holds\n"
        "1 rollout would be written\n"
    )


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


TABLE = [
    row.split("|")[2:4]
    for row in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    if row.startswith("| ") and "`xp train " in row and row.count("|") == 4
]
IN_PLACE = {
    "chat": {"chats.jsonl": lines([CHAT])},
    "atif": {"jobs/a/agent/trajectory.json": ALL["atif"], "jobs/a/verifier/reward.txt": "1\n"},
    "claude-code": {"sessions/a.jsonl": ALL["claude-code"], "scores.json": '{"s-1": 0.5}'},
    "swe-agent": {"trajectories/a.traj": ALL["swe-agent"], "report.json": '{"resolved_ids": ["repo-i1"]}'},
    "mini-swe-agent": {"runs/a.traj.json": ALL["mini-swe-agent"], "report.json": '{"resolved_ids": ["a"]}'},
    "openinference": {"spans/a.jsonl": ALL["openinference"], "scores.json": json.dumps({"7b" * 16: 0.5})},
    "inspect": {"logs/a.json": ALL["inspect"], "logs/b.eval": eval_file(inspect(sample(2)))},
    "tau2": {"simulations/a.json": ALL["tau2"]},
    "tau-bench": {"results.json": json.dumps([TAU_BENCH])},
    "rollout": {"rollouts.jsonl": lines([RFC])},
}
"""Format → the files that the README's command for it is about."""


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0].strip(" `"))
def test_the_commands_of_the_readme(row, tmp_path, monkeypatch, capsys):
    form, typed = (cell.strip(" `") for cell in row)
    monkeypatch.chdir(tmp_path)
    for name, data in IN_PLACE[form].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    words = [
        w
        for word in typed.split()[2:]
        for w in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]
    for forced in ([], ["--format", form]):
        assert xp(*words, "-n", "--json", *forced) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["unscored"], [p for p in answer["problems"] if p["kind"] == "score"]) == (0, [])


def test_every_format_is_in_the_readme_and_in_the_help():
    assert ", ".join(NAMES) in " ".join((import_.__doc__ or "").split())
    assert sorted(form.strip(" `") for form, _ in TABLE) == list(NAMES) == sorted(IN_PLACE)
