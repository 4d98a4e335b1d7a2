from __future__ import annotations

import asyncio

import pytest

from tests.trainer.asking.questions import GOOD, ask_all, question, settings_of
from trainer.asking.budget import Budget
from trainer.asking.open import check_trusted, open_asker
from trainer.asking.tape import Tape
from xpstore.errors import UsageError
from xpstore.settings import LlmSettings


def opened(settings: LlmSettings, **options):
    async def run():
        async with open_asker(settings, **options) as asker:
            return asker

    return asyncio.run(run())


def test_a_model_must_be_named():
    with pytest.raises(UsageError, match="no model is named") as caught:
        opened(LlmSettings())
    assert "--model" in caught.value.hint


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model": "  "}, "no model is named"),
        ({"model": "m\n"}, "no name of a model"),
        ({"model": "m\udcff"}, r"'m\\udcff' is no name of a model"),
        ({"max_cost_per_run": 1.0}, "limits nothing"),
    ],
)
def test_settings_that_cannot_be_meant_are_told_before_anything_is_asked(changes, why):
    with pytest.raises(UsageError, match=why):
        opened(LlmSettings(**{"model": "m", "base_url": "http://127.0.0.1:1/v1", **changes}))


def test_one_price_is_enough_to_count_with():
    settings = LlmSettings(model="m", base_url="http://127.0.0.1:1/v1", max_cost_per_run=1, prompt_price=1)
    assert opened(settings).model == "m"


def test_an_endpoint_elsewhere_needs_a_key():
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        opened(LlmSettings(model="m"))


def test_a_replay_needs_neither_endpoint_nor_key_and_leaves_answers_alone(tmp_path):
    (tmp_path / "answers").mkdir()
    tape = Tape(tmp_path, replays=True)
    (result,), _ = ask_all(LlmSettings(model="m"), [question()], tape=tape, answers=tmp_path / "answers")
    assert result.fault == "replay"
    assert not list((tmp_path / "answers").iterdir())
    assert opened(LlmSettings(model="m"), tape=tape).model == "m"


def test_where_a_key_goes_is_of_no_interest_to_a_replay(tmp_path):
    elsewhere = LlmSettings(model="m", base_url="https://llm.store.example/v1")
    check_trusted(elsewhere, Tape(tmp_path, replays=True))
    for tape in (None, Tape(tmp_path, replays=False)):
        with pytest.raises(UsageError, match=r"to https://llm\.store\.example,"):
            check_trusted(elsewhere, tape)


def test_a_run_has_one_budget(llm_server):
    llm_server.on("extract", GOOD)
    settings = settings_of(llm_server)
    budget = Budget(settings)
    for content in ("one", "two"):
        ask_all(settings, [question(content)], budget=budget)
    assert budget.total.calls == 2


def test_embeddings_are_there_where_a_model_for_them_is_named(llm_server):
    assert opened(settings_of(llm_server)).vectors is None
    assert opened(settings_of(llm_server, embedding_model="small")).vectors is not None
