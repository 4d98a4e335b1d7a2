from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.builders import page
from tests.trainer.mcp_server.shelves import put, shelves
from trainer.asking.budget import Budget
from trainer.asking.vectors import Vectors
from trainer.llm import OpenAIChat
from trainer.mcp_server.meaning import Meaning, fused
from trainer.mcp_server.tools import Tools
from trainer.store_door import StoreDoor
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.llm_server import LlmServer
    from xpstore.location import Location


def vector(text: str) -> tuple[float, ...]:
    """Return what a text is about: money, or flights."""
    return float("money" in text or "refund" in text), float("flight" in text or "退票" in text), 0.1


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return shelves(tmp_path / "s")


def searches(
    loc: Location, server: LlmServer, queries: Sequence[str], told: list[str], between: str = ""
) -> list[list[str]]:
    """Return what each query finds; a page is put there before the last one, if it is named."""
    settings = LlmSettings(base_url=server.url, embedding_model="e/1", retries=0, timeout=20.0)

    async def work() -> list[list[str]]:
        found = []
        budget = Budget(settings)
        async with StoreDoor(loc.repo.place) as door, OpenAIChat(settings, budget.slots) as chat:
            tools = Tools(door, meaning=Meaning(Vectors(chat, budget), "e/1", told.append))
            for number, query in enumerate(queries, 1):
                if between and number == len(queries):
                    put(loc, **{between: page(between)})
                answer = await tools.call("search_experience", {"query": query, "limit": 2})
                assert answer is not None
                found.append([row["name"] for row in answer.data["experiences"]])
            await tools.close()
        return found

    return asyncio.run(work())


def test_what_is_said_in_other_words_is_found(loc, llm_server):
    llm_server.vectors = vector
    told: list[str] = []
    found = searches(loc, llm_server, ["give me my money", "my flight", "give me my money"], told)
    assert [names[0] for names in found] == ["refund", "退票", "refund"]
    texts = [text for seen in llm_server.requests for text in seen.body["input"]]
    assert len(texts) == len(set(texts)) == 5  # three pages and two queries, each once
    assert not any("secret" in text or "old-way" in text for text in texts)
    assert told == []


def test_new_pages_are_asked_for_and_no_others(loc, llm_server):
    llm_server.vectors = vector
    found = searches(loc, llm_server, ["x", "money"], [], between="money-back")
    assert found[-1][0] == "money-back"
    assert [len(seen.body["input"]) for seen in llm_server.requests] == [3, 1, 1, 1]


def test_without_embeddings_words_decide_and_it_is_said_once(loc, llm_server):
    told: list[str] = []
    found = searches(loc, llm_server, ["refund", "give me my money", "refund"], told)
    assert found == [["refund"], [], ["refund"]]
    assert len(told) == 1
    assert told[0].startswith("searching by words only: ")


def test_no_pages_ask_nothing(loc, llm_server):
    put(loc, **dict.fromkeys(("exchange", "refund", "退票")))
    assert searches(loc, llm_server, ["refund"], []) == [[]]
    assert llm_server.requests == []


def test_ranks_are_fused():
    assert fused(["a", "b"], ["b", "a"]) == [("a", pytest.approx(0.991935)), ("b", pytest.approx(0.991935))]
    assert fused(["a"], ["a"]) == [("a", 1.0)]
    assert [name for name, _ in fused(["a", "b", "c"], ["c", "d"])] == ["c", "a", "b", "d"]
    assert fused([], []) == []
