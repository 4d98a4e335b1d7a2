from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import make_store
from trainer.cli.learner import describe_estimate, describe_use, take_choice, take_resolver
from trainer.model_estimate import ModelEstimate
from trainer.model_use import ModelUse, StageUse
from trainer.strategies import ModelChoice
from xpstore.cli.app import App
from xpstore.cli.main import run
from xpstore.config import StoreConfig
from xpstore.errors import UsageError
from xpstore.settings import LlmSettings

HERE = Path("/home/pat/here")
APP = App(cwd=HERE)
NOTHING = {"model": None, "record": None, "replay": None}


def test_the_learner_without_a_model_is_no_choice():
    given = {"learner": "offline", **NOTHING, "trials": 3}
    assert take_choice(APP, given) is None
    assert given == {"trials": 3}


def test_recordings_lie_beside_the_caller():
    given = {"learner": "llm", **NOTHING, "model": "m", "record": "tape"}
    assert take_choice(APP, given) == ModelChoice("m", record=HERE / "tape")


def test_a_run_may_have_other_values_than_the_store():
    given = {"learner": "llm", **NOTHING, "model": "m"}
    given["llm"] = ("timeout=300", "parallel = 2", "embedding_model=small", "timeout=90.5")
    choice = take_choice(APP, given)
    assert choice is not None
    config = StoreConfig(format=1, id="s", llm=LlmSettings(model="own", timeout=5, retries=0))
    wanted = LlmSettings(model="m", timeout=90.5, retries=0, parallel=2, embedding_model="small")
    assert choice.settings(config) == wanted


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"learner": "offline", "model": "m"}, "--model needs a learner with a model"),
        ({"learner": "offline", "replay": "d"}, "--replay needs a learner with a model"),
        ({"learner": "llm", "record": "a", "replay": "b"}, "exclude each other"),
        ({"learner": "offline", "llm": ("timeout=9",)}, "--llm needs a learner with a model"),
        ({"learner": "llm", "llm": ("timeout",)}, r"--llm: `llm.timeout` is '', it must be a number"),
        ({"learner": "llm", "llm": ("retries=11",)}, r"`llm.retries` is 11, it must be .*10 or less"),
        ({"learner": "llm", "llm": ("paralel=2",)}, r"--llm: unknown key `llm.paralel`"),
        ({"learner": "llm", "llm": ("=",)}, "unknown key"),
        ({"learner": "llm", "llm": ("timeout=" + "[" * 9_000,)}, "must be a number"),
        ({"learner": "llm", "llm": ("model=m",)}, "does not take `model`"),
        ({"learner": "llm", "llm": ("base_url='http://a/v1'",)}, "does not take `base_url`"),
    ],
)
def test_options_that_do_not_go_together(given, why):
    with pytest.raises(UsageError, match=why):
        take_choice(APP, {**NOTHING, **given})


def test_a_resolver_is_a_model_of_the_store_or_none(tmp_path):
    loc = make_store(tmp_path / "s")
    assert take_resolver(APP, loc, {"resolver": "offline", **NOTHING}) is None
    with pytest.raises(UsageError, match="no model is named"):
        take_resolver(APP, loc, {"resolver": "llm", **NOTHING})
    resolver = take_resolver(APP, loc, {"resolver": "llm", **NOTHING, "model": "m"})
    assert resolver is not None
    assert (resolver.model, resolver.name) == ("m", "llm/1+m")


def test_one_line_says_what_a_model_was_asked_and_another_by_whom():
    total = StageUse(
        calls=9,
        prompt_tokens=12_345,
        completion_tokens=678,
        cost=0.5,
        repaired=1,
        reused=4,
        mended={"form": 1, "wrapped": 3},
        failures={"length": 2},
    )
    stages = {"edit": StageUse(calls=3), "extract": StageUse(calls=6, reused=4)}
    assert list(describe_use(ModelUse(name="m", stages=stages, total=total))) == [
        (
            "m: 9 calls, 12,345 tokens sent, 678 written, 4 answers on record, 1 answer asked for again,"
            " put right: form 1, wrapped 3, 2 questions without an answer (length 2), cost 0.5000"
        ),
        "  edit 3; extract 6 + 4 on record",
    ]
    assert list(describe_use(ModelUse(name="m", fewest_at_once=1)))[1:] == [
        "  it could not keep up: for a while it was asked no more than 1 question at once"
    ]
    assert list(describe_use(ModelUse(name="m"))) == ["m: 0 calls, 0 tokens sent, 0 written"]
    assert list(describe_use(None)) == []


def test_an_estimate_is_one_line():
    estimate = ModelEstimate(
        name="m", rollouts=4, calls=10, prompt_tokens=945_678, completion_tokens=5_049, cost=0.0
    )
    assert list(describe_estimate(estimate)) == [
        "m: 4 rollouts to read, at most 10 calls, about 950,000 tokens sent, 5,000 written"
    ]
    assert list(describe_estimate(None)) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("train", "--model", "m"), "--model needs a learner"),
        (("train", "--learner", "llm"), "no model is named"),
        (("train", "--learner", "llm", "--model", "m", "--replay", "nowhere"), "there is no recording"),
        (("train", "f", "--learner", "llm", "--model", "m", "--replay", "no", "--dry-run"), "no recording"),
        (("resolve", "b", "--take", "ours", "--resolver", "llm", "--model", "m"), "--take and --resolver"),
        (("demo", "d", "--learner", "llm"), "no model is named"),
        (("demo", "d", "--break", "--learner", "llm", "--model", "m"), "--break asks no model"),
        (("demo", "d", "--break", "--train-limit", "2"), "--break trains on all cases"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(tmp_path, monkeypatch, capsys, words, why):
    make_store(tmp_path / "s")
    monkeypatch.chdir(tmp_path / "s")
    (tmp_path / "s" / "f").write_text("")
    assert run([*words, "--json"]) == 2
    assert why in json.loads(capsys.readouterr().out)["message"]
    assert not (tmp_path / "s" / "d").exists()
