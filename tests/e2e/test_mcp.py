from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore.commit import commit
from xpstore.landing import land

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from xpstore.location import Location

XP = str(Path(sys.executable).with_name("xp"))
PATIENCE = 60
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
CALL = {"id": "1", "function": {"name": "pay", "arguments": '{"to": "pat@example.org"}'}}
REPORT = {
    "task": "Refund order 7",
    "case": "refund-7",
    "outcome": "failed",
    "messages": [
        {"role": "user", "content": "I want my money back"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ],
}


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    loc = make_store(tmp_path / "s")
    draft = page("secret-plan").replace("---\n\n", "status: draft\n---\n\n", 1)
    old = page("old-way").replace("---\n\n", "status: deprecated\n---\n\n", 1)
    pages = {"refund": page("refund", "Ask for the receipt."), "退票": page("退票", "先查询订单。")}
    items = [upsert(n, t) for n, t in {**pages, "secret-plan": draft, "old-way": old}.items()]
    commit(loc, [make_plan(loc, *items)], "main")
    return loc


def learn(loc: Location) -> str:
    """Land a candidate that adds a page and changes one; return the new commit of main."""
    before = page("refund", "Ask for the receipt.")
    items = (
        upsert("exchange", page("exchange")),
        upsert("refund", page("refund", "Never refund twice."), before),
    )
    commit(loc, [make_plan(loc, *items)], "train/x", start="main")
    land(loc, "train/x")
    return loc.resolve("main")


@asynccontextmanager
async def client(
    loc: Location, mode: str, *options: str, told: asyncio.Queue[object] | None = None
) -> AsyncIterator[Client]:
    """Run `xp mcp` as a host does."""
    server = StdioServerParameters(
        command=XP, args=["-C", str(loc.repo.place), "mcp", *options], env=dict(os.environ)
    )

    async def hear(message: object) -> None:
        if told is not None:
            told.put_nowait(message)

    async with asyncio.timeout(PATIENCE), Client(server, mode=mode, message_handler=hear) as connected:
        yield connected


async def until(told: asyncio.Queue[object], *kinds: type) -> list[object]:
    """Return what was heard until there was a message of each of these kinds."""
    heard: list[object] = []
    while not all(any(isinstance(one, kind) for one in heard) for kind in kinds):
        heard.append(await told.get())
    return heard


def test_a_client_of_today_lists_searches_reads_and_hears_of_a_landing(loc: Location) -> None:
    first = loc.resolve("main")
    address = f"xp://{loc.config.id}/refund"

    async def work() -> None:
        told: asyncio.Queue[object] = asyncio.Queue()
        async with client(loc, "legacy", told=told) as mcp:
            tools = {tool.name: tool for tool in (await mcp.list_tools()).tools}
            assert tools.keys() == {"search_experience", "read_experience", "list_experiences"}
            assert all(tool.annotations.read_only_hint for tool in tools.values())
            assert "There are 2: refund, 退票." in tools["search_experience"].description

            found = await mcp.call_tool("search_experience", {"query": "the customer wants a refund"})
            assert [row["name"] for row in found.structured_content["experiences"]] == ["refund"]
            assert found.structured_content["commit"] == found.meta["xpstore/commit"] == first
            read = await mcp.call_tool("read_experience", {"name": "refund"})
            assert "Ask for the receipt." in read.content[0].text
            assert f"(commit {first})" in read.content[0].text
            resources = (await mcp.list_resources()).resources
            assert [one.name for one in resources] == ["refund", "退票"]
            assert "先查询订单" in (await mcp.read_resource(resources[1].uri)).contents[0].text
            with pytest.warns(MCPDeprecationWarning):  # a client of today has nothing else
                await mcp.session.subscribe_resource(address)

            second = await asyncio.to_thread(learn, loc)
            heard = await until(
                told,
                types.ToolListChangedNotification,
                types.ResourceListChangedNotification,
                types.ResourceUpdatedNotification,
            )
            updated = [n.params.uri for n in heard if isinstance(n, types.ResourceUpdatedNotification)]
            assert updated == [address]
            again = await mcp.call_tool("read_experience", {"name": "refund"})
            assert "Never refund twice." in again.content[0].text
            assert again.structured_content["commit"] == second
            listed = await mcp.call_tool("list_experiences", {})
            assert [row["name"] for row in listed.structured_content["experiences"]] == [
                "exchange",
                "refund",
                "退票",
            ]
            assert "There are 3" in (await mcp.list_tools()).tools[0].description

    asyncio.run(work())


def test_a_client_of_the_newest_protocol_listens_and_reports_an_outcome(loc: Location) -> None:
    address = f"xp://{loc.config.id}/refund"

    async def work() -> str:
        async with client(loc, "auto", "--report-outcome") as mcp:
            assert mcp.protocol_version == "2026-07-28"
            async with mcp.listen(
                tools_list_changed=True, resources_list_changed=True, resource_subscriptions=[address]
            ) as events:
                await asyncio.to_thread(learn, loc)
                heard = [await anext(events), await anext(events), await anext(events)]
            assert heard == [ToolsListChanged(), ResourcesListChanged(), ResourceUpdated(uri=address)]
            page = (await mcp.read_resource(address)).contents[0]
            assert "Never refund twice." in page.text
            done = await mcp.call_tool("report_outcome", REPORT)
            assert not done.is_error
            return str(done.structured_content["rollout"])

    rollout = asyncio.run(work())
    (row,) = asked(loc, "inbox", "list")["open"]
    assert (row["rollout"], row["case"]["name"]) == (rollout, "refund-7")
    kept = git(loc.repo.place, "show", f"xp/evidence:rollouts/{rollout[:2]}/{rollout}.json")
    assert json.loads(kept)["policy_snapshot_id"] == loc.resolve("main")
    assert "pat@example.org" not in kept
    (use,) = asked(loc, "stats", "refund")["experiences"]
    assert (use["read"], use["failed"], use["last"]["commit"]) == (1, 1, loc.resolve("main"))


def asked(loc: Location, *words: str) -> dict[str, list[dict[str, object]]]:
    """Return what `xp` answers with --json."""
    done = subprocess.run([XP, "-C", str(loc.repo.place), *words, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_what_was_answered_is_on_record_whatever_ends_the_server(loc: Location) -> None:
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    params = {"name": "report_outcome", "arguments": {"task": "Refund order 7", "score": 1}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    with subprocess.Popen(
        [XP, "-C", str(loc.repo.place), "mcp", "--report-outcome"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in (HELLO, ready, call):
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "xpstore"
        done = json.loads(server.stdout.readline())["result"]["structuredContent"]
        server.send_signal(signal.SIGINT)  # standard input is still open, and nothing is waited for
        assert server.wait(PATIENCE) == -signal.SIGINT
    assert [row["rollout"] for row in asked(loc, "inbox", "list")["open"]] == [done["rollout"]]


@pytest.mark.stress
def test_a_client_that_goes_away_is_no_defect(loc: Location) -> None:
    with subprocess.Popen(
        [XP, "-C", str(loc.repo.place), "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(b"GET / HTTP/1.1\n\n" + b"{" * 100_000 + b"\n\xff\xfe\n")  # none of it is answered
        server.stdout.close()
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.close()
        assert server.wait(PATIENCE) == 0
        assert b"defect" not in server.stderr.read()
