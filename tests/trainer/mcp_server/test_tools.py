from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, page
from tests.trainer.mcp_server.shelves import put, shelves
from trainer.mcp_server import tools as module
from trainer.mcp_server.tools import Answer, ToolCard, Tools
from trainer.store_door import StoreDoor
from xpstore.errors import XpError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return shelves(tmp_path / "s")


def with_tools(loc: Location, work: Callable[[Tools], Awaitable[object]], *, reports: bool = False) -> object:
    async def run() -> object:
        async with StoreDoor(loc.repo.place) as door:
            tools = Tools(door, reports=reports)
            try:
                return await work(tools)
            finally:
                await tools.close()

    return asyncio.run(run())


async def cards(tools: Tools) -> list[ToolCard]:
    return tools.cards(await tools.catalogue())


def call(loc: Location, tool: str, **arguments: object) -> Answer:
    found = with_tools(loc, lambda tools: tools.call(tool, arguments))
    assert isinstance(found, Answer)
    assert found.data["commit"] == found.commit == loc.resolve("main")
    assert found.text.endswith(f"(commit {found.commit})")
    return found


def test_a_search_names_and_describes(loc):
    found = call(loc, "search_experience", query="a refund, please")
    assert [(row["name"], row["status"]) for row in found.data["experiences"]] == [("refund", "production")]
    assert found.text.startswith("- refund: When refund is asked for. (score ")
    assert "No lesson fits" in call(loc, "search_experience", query="zeppelin").text


def test_a_page_is_read_without_figures_and_without_what_nobody_sees(loc):
    put(loc, refund=page("refund", "Ask.\u202e\n  *Support: 3 rollouts*"))
    found = call(loc, "read_experience", name="refund")
    assert found.data["text"] in found.text
    assert "Support" not in found.text
    assert "\u202e" not in found.text


def test_a_list_goes_on(loc):
    found = call(loc, "list_experiences", limit=2)
    assert [row["name"] for row in found.data["experiences"]] == ["exchange", "refund"]
    assert (found.data["total"], found.data["next"]) == (3, "refund")
    assert "after = refund" in found.text
    last = call(loc, "list_experiences", after="refund")
    assert last.data["next"] == ""
    assert call(loc, "list_experiences", after="退票").data["experiences"] == []


def test_the_search_says_what_there_is(loc, monkeypatch):
    (search, *others) = with_tools(loc, cards)
    assert "There are 3: exchange, refund, 退票." in search.description
    assert [card.name for card in others] == ["read_experience", "list_experiences"]
    assert all(card.read_only for card in (search, *others))
    monkeypatch.setattr(module, "NAMED", 2)
    assert "There are 3. " in with_tools(loc, cards)[0].description
    put(loc, **dict.fromkeys(("exchange", "refund", "退票")))
    assert "There are none yet." in with_tools(loc, cards)[0].description


def test_reports_are_for_those_who_asked_for_them(loc):
    async def refused(tools: Tools) -> object:
        return await tools.call("report_outcome", {"task": "x", "outcome": "passed"})

    before = git(loc.repo.place, "for-each-ref")
    assert with_tools(loc, refused) is None
    assert with_tools(loc, lambda tools: tools.call("rm", {})) is None
    assert git(loc.repo.place, "for-each-ref") == before
    assert with_tools(loc, cards, reports=True)[-1].read_only is False

    async def work(tools: Tools) -> object:
        await tools.call("read_experience", {"name": "refund"})
        return await tools.call("report_outcome", {"task": "x", "outcome": "passed"})

    done = with_tools(loc, work, reports=True)
    assert isinstance(done, Answer)
    assert done.data["experiences"] == ["refund"]
    assert done.text.startswith(f"On record as {str(done.data['rollout'])[:9]}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_experience", {"name": "../../xp"}),
        ("read_experience", {"name": "secret-plan"}),
        ("read_experience", {"name": "old-way"}),
        ("read_experience", {"name": "refund\x00\x1b[2J"}),
        ("read_experience", {"name": ["refund"]}),
        ("search_experience", {"query": "refund", "limit": 10**40}),
        ("search_experience", {"query": "refund " * 10_000}),
        ("search_experience", {"query": "half a character: \ud800"}),
        ("list_experiences", {"limit": 1e308}),
        ("report_outcome", {"task": "x", "outcome": "passed", "messages": [{"role": "user"}] * 3000}),
    ],
)
def test_hostile_arguments_are_refused_in_a_line(loc, name, arguments):
    with pytest.raises(XpError) as raised:
        with_tools(loc, lambda tools: tools.call(name, arguments), reports=True)
    assert raised.value.message.isprintable()
    assert len(raised.value.message) < 400


def test_a_query_is_words(loc):
    found = call(loc, "search_experience", query="'; DROP TABLE docs -- \x00 NEAR( refund")
    assert [row["name"] for row in found.data["experiences"]] == ["refund"]
