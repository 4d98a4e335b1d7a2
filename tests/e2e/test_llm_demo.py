"""`xp demo --learner llm`: a scripted model reads what the agent did at the order desk; it gets better."""

from __future__ import annotations

import json

import pytest

from tests.builders import git, texts
from tests.llm_world import DESK, teach_desk
from trainer import demo
from trainer.environments.order_desk import suites
from trainer.loop import LoopOptions
from xpstore.cli.main import run
from xpstore.location import Location

SEED = demo.source_of(None).config.environment.options["seed"]
"""The company of the sample, of fewer cases."""
DEMO = ["demo", "d", "--seed", str(SEED), "--train-limit", "16", "--learner", "llm", "--model", "small"]
FEW = LoopOptions(trials=2, evaluate=False)


@pytest.fixture
def desk(llm_server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "FEW", FEW)
    monkeypatch.setattr(demo, "suites", lambda seed: suites(seed, train=18, gate=12, test=1))
    return teach_desk(llm_server)


def test_it_is_measured_trained_gated_and_landed_and_a_recording_does_it_again(
    desk, tmp_path, capsys, monkeypatch
):
    assert run([*DEMO, "--record", "tape", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (epoch,) = answer["epochs"]
    assert (epoch["cases"], epoch["n"]) == (16, 32)
    assert answer["gate"]["decision"] == "accept"
    assert len(answer["landed"]) == len(epoch["commits"]) > 0
    assert answer["model"]["total"]["calls"] == len(desk.requests) <= 32 + 16 + 2 * -(-32 // 16)
    pages = texts(Location.find(tmp_path / "d"), "main")
    learned = {text for name in pages for text in DESK.get(name.replace("-", "_"), []) if text in pages[name]}
    assert learned
    authors = git(tmp_path / "d", "log", "--format=%an", "main").split("\n")
    assert authors.count("llm/1+small") == len(answer["landed"])

    desk.close()
    monkeypatch.delenv("OPENAI_BASE_URL")
    (tmp_path / "d").rename(tmp_path / "first")
    assert run([*DEMO, "--replay", "tape", "--json"]) == 0
    assert texts(Location.find(tmp_path / "d"), "main") == pages


@pytest.mark.usefixtures("desk")
def test_what_is_suspect_does_not_land_by_itself(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("trainer.llm_learner.editor.why_suspect", lambda _: "asks for approval")
    assert run(DEMO) == 1
    out = capsys.readouterr().out
    where = Location.find(tmp_path / "d")
    (branch,) = git(tmp_path / "d", "for-each-ref", "--format=%(refname:short)", "refs/heads/train").split()
    assert "asks for approval" in out
    assert "Nothing landed; main stays at" in out
    assert set(texts(where, "main")) == {"app-orders", "cancel-order", "words-for-customers"}
    assert run(["-C", "d", "land", branch, "--accept-suspect", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    let_in = answer["gate"]["record"]["let_in"]
    assert len(let_in) == len(answer["plans"]) == len(answer["suspects"])
    assert "accepts the suspect plan" in let_in[0]
    assert answer["gate"]["suspects"] == []
    assert run(["-C", "d", "verify"]) == 0
