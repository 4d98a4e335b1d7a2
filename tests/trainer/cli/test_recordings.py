from __future__ import annotations

import json
from functools import partial

import pytest

from tests.recordings import claude, lines
from trainer.cli.recordings import tell_problems, unscored_line
from trainer.drop_folder import DropFolder
from xpstore.cli.main import run
from xpstore.init import init


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    init(tmp_path / "s")
    (tmp_path / "a.jsonl").write_text(lines([*claude("a"), *claude("b", "Something else.")]))
    (tmp_path / "scores.json").write_text('{"a": 0.0, "ghost": 1}')
    return tmp_path


def test_what_is_told_of_rollouts_without_a_score():
    assert unscored_line(1).startswith("1 rollout has no score: what tools refuse is learned")
    assert unscored_line(2, judged=True) == "2 rollouts have no score: the model says whether they passed"


def test_a_few_problems_are_shown(capsys):
    tell_problems("Skipped:", [{"file": "f", "line": n, "error": "why"} for n in range(7)])
    tell_problems("Nothing:", [])
    assert capsys.readouterr().err.splitlines() == [
        "Skipped:",
        "  f: why",
        *(f"  f:{n}: why" for n in range(1, 5)),
        "  and 2 more (--json lists all)",
    ]


@pytest.mark.usefixtures("here")
def test_train_reads_recordings_with_scores_from_beside(capsys):
    assert run(["-C", "s", "train", "a.jsonl", "--scores", "scores.json"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 rollouts, 0 passed\n1 rollout has no score: what tools refuse is learned")
    assert "Of the recordings:\n" in out
    assert "no rollout has the id 'ghost'" in out
    assert run(["-C", "s", "train", "a.jsonl", "--scores", "scores.json", "--json", "-n"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rollouts"], report["unscored"], len(report["remarks"])) == (2, 1, 1)


@pytest.mark.usefixtures("here")
def test_a_model_judges_what_has_no_score(capsys):
    assert run(["-C", "s", "train", "a.jsonl", "--learner", "llm", "--model", "m", "-n"]) == 0
    assert "2 rollouts have no score: the model says whether they passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("train", "a.jsonl", "--format", "atif"), "this is no record of atif"),
        (("train", "--format", "atif"), "works with FILE only"),
        (("train", "--scores", "scores.json"), "works with FILE only"),
        (("watch", "--format", "atif"), "--format and --scores work with DIR only"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_use(capsys, args, why):
    assert run(["-C", "s", *args]) == 2
    assert why in capsys.readouterr().err


def test_watch_takes_the_same_options(here, capsys, monkeypatch):
    monkeypatch.setattr("trainer.drop_folder.DropFolder", partial(DropFolder, settle=0))
    (here / "in").mkdir()
    (here / "a.jsonl").rename(here / "in" / "a.jsonl")
    code = run(["-C", "s", "watch", str(here / "in"), "--once", "--json", "--scores", "scores.json"])
    row = json.loads(capsys.readouterr().out)
    assert (code, row["rollouts"], row["unscored"], row["remarks"], row["problems"]) == (0, 2, 1, [], [])
