from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from mcp import Client, MCPError

from tests.builders import git
from tests.trainer.mcp_server.shelves import shelves
from trainer.mcp_server import server as module
from trainer.mcp_server.server import COMMIT, McpServer
from trainer.mcp_server.tools import Tools
from trainer.store_door import StoreDoor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return shelves(tmp_path / "s")


def connected(loc: Location, work: Callable[[Client], Awaitable[object]]) -> None:
    """Let a client in the same process work with the server."""

    async def run() -> None:
        async with StoreDoor(loc.repo.place) as door:
            tools = Tools(door)
            made = McpServer(tools, loc.config.id)
            async with Client(made._server) as client:
                await work(client)
            await tools.close()

    asyncio.run(run())


def test_resources_come_in_pages_with_addresses_of_the_store(loc, monkeypatch):
    monkeypatch.setattr(module, "PAGE", 2)

    async def work(client: Client) -> None:
        first = await client.list_resources()
        assert [one.name for one in first.resources] == ["exchange", "refund"]
        assert first.meta[COMMIT] == loc.resolve("main")
        rest = await client.list_resources(cursor=first.next_cursor)
        assert [one.uri for one in rest.resources] == [f"xp://{loc.config.id}/%E9%80%80%E7%A5%A8"]
        assert rest.next_cursor is None
        read = await client.read_resource(rest.resources[0].uri)
        assert "先查询订单" in read.contents[0].text
        assert read.meta[COMMIT] == loc.resolve("main")
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == f"xp://{loc.config.id}/{{name}}"

    connected(loc, work)


def test_what_the_store_refuses_is_an_answer_and_what_there_is_not_an_error(loc):
    async def work(client: Client) -> None:
        answer = await client.call_tool("read_experience", {"name": "no\x1bsuch"})
        assert answer.is_error
        assert answer.content[0].text.startswith("error: no experience is called 'no\\x1bsuch'\nhint: ")
        for name in ("rm", "report_outcome", "x" * 10_000):
            with pytest.raises(MCPError, match="there is no tool"):
                await client.call_tool(name, {})
        for uri in (
            "file:///etc/passwd",
            f"xp://{loc.config.id}/..%2Fxp",
            f"xp://{loc.config.id}/old-way",
        ):
            with pytest.raises(MCPError):
                await client.read_resource(uri)

    connected(loc, work)


def test_a_branch_that_is_gone_is_an_error_that_says_so(loc):
    async def work(client: Client) -> None:
        git(loc.repo.place, "checkout", "-q", "--detach")
        git(loc.repo.place, "branch", "-D", "main")
        with pytest.raises(MCPError, match="main"):
            await client.list_tools()
        answer = await client.call_tool("search_experience", {"query": "refund"})
        assert answer.is_error
        git(loc.repo.place, "branch", "main")
        assert len((await client.list_tools()).tools) == 3

    connected(loc, work)
