from __future__ import annotations

import json

import pytest

from tests.builders import git, identify
from tests.trainer.bisect.desk import LESSONS, text_of
from trainer import demo
from trainer.environments.order_desk import suites
from xpstore.cli.main import run

SMALL = {"train": 6, "gate": 12, "test": 6}


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A small desk that has learned its company's policy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "suites", lambda seed: suites(seed, **SMALL))
    where = tmp_path / "d"
    demo.make(where, 7)
    for name, lessons in LESSONS.items():
        (where / "experiences" / f"{name}.md").write_text(text_of(name, lessons), encoding="utf-8")
    config = where / "xp.toml"
    text = config.read_text(encoding="utf-8").replace("trials = 4", "trials = 1")
    few = "[gate]\ntrials = 2\nalpha = 0.4\n"  # so few cases are no proof
    config.write_text(f"{text}\n{few}", encoding="utf-8")
    identify(where)
    git(where, "add", ".")
    git(where, "commit", "-qm", "Know the policy")
    return where


def test_harm_is_refused_forced_in_found_and_undone(desk, capsys):
    assert run(["demo", "--break", "d", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["refused"], answer["forced"], answer["bisect"]["state"]) == ("rejected", "landed", "found")
    (culprit,) = answer["bisect"]["culprit"]
    assert culprit["plans"] == [answer["harmful"]]
    accuracy = answer["accuracy"]
    assert accuracy["broken"] < accuracy["before"] - 0.2
    assert accuracy["after"] > accuracy["before"] - 0.1
    assert git(desk, "log", "-1", "--format=%s") == 'Revert "Leave orders above 20 alone"'
    assert git(desk, "status", "--porcelain") == ""


def test_a_company_is_not_changed_and_other_things_are_left_alone(desk, tmp_path, capsys):
    assert run(["demo", "--break", "d", "--seed", "3"]) == 2
    assert "has a company already" in capsys.readouterr().err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert run(["demo", "--break", "mine"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert desk
