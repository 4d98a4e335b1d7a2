from __future__ import annotations

import asyncio

import pytest

from tests.trainer.asking.questions import settings_of
from trainer.asking import vectors as module
from trainer.asking.budget import Budget
from trainer.asking.chat import ChatError
from trainer.asking.open import open_asker
from trainer.asking.question import AskError
from trainer.asking.tape import Tape
from trainer.asking.vectors import Vectors
from xpstore import derived
from xpstore.git import Repo
from xpstore.settings import LlmSettings


class Lengths:
    """Embeds a text as its length and a third, and counts."""

    def __init__(self, error: AskError | None = None) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.error = error

    async def embed(self, texts, model):
        await asyncio.sleep(0)
        self.asked.append(tuple(texts))
        if self.error:
            raise self.error
        return [(float(len(text)), 1 / 3) for text in texts]


@pytest.fixture
def repo(tmp_path):
    return Repo.create(tmp_path / "r", "main")


def embed(vectors, texts, model="m"):
    return asyncio.run(vectors.embed(texts, model))


def test_a_text_is_paid_for_once(repo):
    endpoint = Lengths()
    budget = Budget(LlmSettings(completion_price=9.0))
    vectors = Vectors(endpoint, budget, cache=repo)

    async def twice():
        return await asyncio.gather(vectors.embed(["a", "bb", "a"], "m"), vectors.embed(["bb", "ccc"], "m"))

    first, second = asyncio.run(twice())
    assert [v[0] for v in first] == [1, 2, 1]
    assert second[0] == first[1]
    assert endpoint.asked == [("a", "bb"), ("ccc",)]
    assert (budget.used["embed"].calls, budget.used["embed"].prompt_tokens, budget.total.cost) == (2, 3, 0)
    vectors.save()
    later = Lengths()
    assert embed(Vectors(later, budget, cache=repo), ["ccc", "bb"]) == [second[1], second[0]]
    assert later.asked == []
    assert embed(Vectors(later, budget, cache=repo), ["bb"], "other") == [second[0]]
    assert later.asked == [("bb",)]


def test_texts_go_out_in_batches(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 2)
    endpoint = Lengths()
    embed(Vectors(endpoint, Budget(LlmSettings())), ["a", "b", "c"])
    assert endpoint.asked == [("a", "b"), ("c",)]


def test_what_is_kept_is_bounded_and_what_was_used_stays(repo, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 3 * (32 + 4 + 8))
    first = Vectors(Lengths(), Budget(LlmSettings()), cache=repo)
    embed(first, ["a", "b", "c"])
    first.save()
    second = Vectors(Lengths(), Budget(LlmSettings()), cache=repo)
    embed(second, ["c", "d"])
    second.save()
    third = Lengths()
    embed(Vectors(third, Budget(LlmSettings()), cache=repo), ["a", "b", "c", "d"])
    assert third.asked == [("b",)]


def test_a_damaged_file_is_none(repo):
    vectors = Vectors(Lengths(), Budget(LlmSettings()), cache=repo)
    embed(vectors, ["a"])
    vectors.save()
    file = derived.path(repo, "vectors")
    assert b"a text" not in file.read_bytes()
    file.write_bytes(file.read_bytes()[5:])
    again = Lengths()
    embed(Vectors(again, Budget(LlmSettings()), cache=repo), ["a"])
    assert again.asked == [("a",)]


def test_an_endpoint_without_embeddings_is_asked_once():
    endpoint = Lengths(ChatError("http", "the host answered 404: none", status=404))
    budget = Budget(LlmSettings())
    vectors = Vectors(endpoint, budget)
    assert vectors.why_not == ""
    for _ in range(3):
        with pytest.raises(AskError, match="404"):
            embed(vectors, ["a"])
    assert (len(endpoint.asked), vectors.why_not) == (1, "the host answered 404: none")
    assert budget.faults == {("embed", "http"): 1}


def test_an_endpoint_that_is_down_is_asked_again():
    endpoint = Lengths(ChatError("http", "503", status=503))
    vectors = Vectors(endpoint, Budget(LlmSettings()))
    for _ in range(2):
        with pytest.raises(AskError):
            embed(vectors, ["a"])
    assert (len(endpoint.asked), vectors.why_not) == (2, "")


def test_through_the_door_onto_a_tape_and_back(llm_server, tmp_path, repo):
    llm_server.vectors = lambda text: (len(text) / 3, 1.0)
    settings = settings_of(llm_server, embedding_model="small")

    async def run(tape: Tape, cache: Repo | None):
        async with open_asker(settings, tape=tape, cache=cache) as asker:
            return await asker.vectors.embed(["a", "bb"], "small")

    live = asyncio.run(run(Tape(tmp_path / "t"), repo))
    from_cache = asyncio.run(run(Tape(tmp_path / "u"), repo))
    assert llm_server.counts["embeddings"] == 1
    llm_server.close()
    for folder in ("t", "u"):
        assert asyncio.run(run(Tape(tmp_path / folder, replays=True), None)) == live == from_cache
