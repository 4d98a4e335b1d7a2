from __future__ import annotations

import json

import pytest

from tests.builders import git
from trainer import demo
from trainer.environments.order_desk import suites
from trainer.environments.order_desk.policy import draw_policy
from xpstore.cli.main import run


@pytest.mark.parametrize("named", [".", "mine.txt"])
def test_what_is_there_is_left_alone(tmp_path, capsys, named):
    (tmp_path / "mine.txt").write_text("mine")
    assert run(["demo", str(tmp_path / named)]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert "is there already" in answer.err
    assert "xp demo DIR" in answer.err
    assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]


def test_json(tmp_path, capsys, monkeypatch):
    """A tiny company: what is measured in full is in the tests of the README and of the order desk."""
    monkeypatch.chdir(tmp_path)
    small = {"train": 12, "gate": 6, "test": 6}
    monkeypatch.setattr(demo, "suites", lambda seed: suites(seed, **small))
    assert run(["demo", "d", "--seed", "4", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["store"] == str(tmp_path / "d")
    assert answer["baseline"]["cases"] == answer["final"]["cases"] == 6
    assert answer["epochs"][0]["n"] == 12 * 8
    assert (answer["gate"] is None) == (not answer["landed"])  # so small a company may teach nothing
    landed = git(tmp_path / "d", "log", "--format=%(trailers:key=Plan-Id,valueonly,separator=)", "main")
    assert sorted(answer["landed"]) == sorted(landed.split())
    rules = [str(rule) for rule in draw_policy(4).rules]
    assert not any(rule in json.dumps(answer) for rule in rules)
