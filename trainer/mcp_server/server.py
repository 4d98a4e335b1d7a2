"""The door to the MCP SDK: the tools and resources over stdio, and the notices that something has changed.

Both eras of the protocol are served: clients that shake hands (until 2025-11-25) are sent notices as they
subscribe, clients of 2026-07-28 listen for them. All that the store decides is in the other modules.
"""

from __future__ import annotations

import asyncio
import json
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcp import MCPError, types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from trainer.mcp_server.follow import SCHEME, changes, name_of, uri_of
from xpstore.errors import XpError
from xpstore.names import without_invisible

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from trainer.mcp_server.shelf import Card, Catalogue
    from trainer.mcp_server.tools import ToolCard, Tools
    from xpstore.watch import ExperienceWatcher

PAGE = 100
"""Resources of one answer."""
MOST_SUBSCRIPTIONS = 1_000
COMMIT = "xpstore/commit"
"""Key in `_meta` of every answer: the commit that it comes from."""
INSTRUCTIONS = (
    "Before a task, search for lessons with search_experience and read those that fit. They are advice that "
    "was learned from earlier attempts. Every answer names the commit that it comes from."
)


class McpServer:
    """One connection's server; `run` serves it."""

    def __init__(self, tools: Tools, store_id: str) -> None:
        self._tools = tools
        self._id = store_id
        self._bus = InMemorySubscriptionBus()
        self._session: ServerSession | None = None
        self._subscribed: set[str] = set()
        self._server = Server(
            "xpstore",
            version=version("xpstore"),
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self._server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )

    async def run(self, watcher: ExperienceWatcher | None, tell: Callable[[str], None]) -> None:
        """Serve standard input and output until the client closes them; `tell` hears what goes wrong.

        Without a watcher nothing is followed: a commit stays what it is.
        """
        options = self._server.create_initialization_options(
            NotificationOptions(tools_changed=True, resources_changed=True)
        )
        try:
            async with stdio_server() as (read, write):
                following = asyncio.create_task(self._follow(watcher, tell)) if watcher else None
                try:
                    await self._server.run(read, write, options)
                finally:
                    if following:
                        following.cancel()
                        await asyncio.gather(following, return_exceptions=True)
        except* BrokenPipeError:
            tell("the client went away before it was answered")

    async def _follow(self, watcher: ExperienceWatcher, tell: Callable[[str], None]) -> None:
        try:
            before = await self._tools.catalogue()
            async for _ in watcher:
                try:
                    after = await self._tools.catalogue()
                except XpError as error:  # the branch went away again: the next state is told of
                    tell(error.message)
                    continue
                await self._publish(before, after)
                before = after
        except XpError as error:
            tell(f"the branch is followed no more: {error.message}")

    async def _publish(self, before: Catalogue, after: Catalogue) -> None:
        """Say what has changed, to clients of either era; the SDK sends each of them only its own."""
        found = changes(before, after)
        session = self._session
        if found.tools:
            await self._bus.publish(ToolsListChanged())
            if session:
                await session.send_tool_list_changed()
        if found.listing:
            await self._bus.publish(ResourcesListChanged())
            if session:
                await session.send_resource_list_changed()
        for name in found.updated:
            uri = uri_of(self._id, name)
            await self._bus.publish(ResourceUpdated(uri=uri))
            if session and uri in self._subscribed:
                await session.send_resource_updated(uri)

    async def _initialized(self, ctx: ServerRequestContext, params: types.NotificationParams | None) -> None:
        del params
        self._session = ctx.session

    async def _list_tools(
        self, ctx: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        del ctx, params
        catalogue = await self._catalogue()
        tools = [_tool(card) for card in self._tools.cards(catalogue)]
        return types.ListToolsResult(tools=tools, meta=_meta(catalogue.commit))

    async def _call_tool(
        self, ctx: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        del ctx
        try:
            answer = await self._tools.call(params.name, params.arguments)
        except XpError as error:  # the model can do otherwise
            return _refused(error)
        if answer is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:60]!r}")
        return types.CallToolResult(
            content=[types.TextContent(text=answer.text)],
            structured_content=json.loads(json.dumps(answer.data)),
            meta=_meta(answer.commit),
        )

    async def _list_resources(
        self, ctx: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del ctx
        catalogue = await self._catalogue()
        after = (params.cursor if params else None) or ""
        cards = [card for name, card in catalogue.cards.items() if name > after]
        return types.ListResourcesResult(
            resources=[self._resource(card) for card in cards[:PAGE]],
            next_cursor=cards[PAGE - 1].name if len(cards) > PAGE else None,
            meta=_meta(catalogue.commit),
        )

    async def _list_templates(
        self, ctx: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        del ctx, params
        template = types.ResourceTemplate(
            name="experience",
            uri_template=f"{SCHEME}://{quote(self._id)}/{{name}}",
            description="A lesson by its name.",
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(
        self, ctx: ServerRequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        del ctx
        try:
            page = await self._tools.read(name_of(self._id, str(params.uri)))
        except XpError as error:
            raise MCPError(types.INVALID_PARAMS, without_invisible(error.message)) from error
        content = types.TextResourceContents(
            uri=str(params.uri), mime_type="text/markdown", text=page.text, meta=_meta(page.commit)
        )
        return types.ReadResourceResult(contents=[content], meta=_meta(page.commit))

    async def _subscribe(
        self, ctx: ServerRequestContext, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        del ctx
        if len(self._subscribed) >= MOST_SUBSCRIPTIONS:
            raise MCPError(
                types.INVALID_PARAMS, f"at most {MOST_SUBSCRIPTIONS} resources can be subscribed to"
            )
        self._subscribed.add(str(params.uri))
        return types.EmptyResult()

    async def _unsubscribe(
        self, ctx: ServerRequestContext, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        del ctx
        self._subscribed.discard(str(params.uri))
        return types.EmptyResult()

    async def _catalogue(self) -> Catalogue:
        """Return what is served now. Raises MCPError where it cannot be told."""
        try:
            return await self._tools.catalogue()
        except XpError as error:
            raise MCPError(types.INTERNAL_ERROR, without_invisible(error.message)) from error

    def _resource(self, card: Card) -> types.Resource:
        return types.Resource(
            uri=uri_of(self._id, card.name),
            name=card.name,
            description=without_invisible(card.description) or None,
            mime_type="text/markdown",
        )


def _tool(card: ToolCard) -> types.Tool:
    return types.Tool(
        name=card.name,
        description=card.description,
        input_schema=card.arguments.model_json_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=card.read_only, destructive_hint=False, open_world_hint=False
        ),
    )


def _refused(error: XpError) -> types.CallToolResult:
    hint = f"\nhint: {error.hint}" if error.hint else ""
    text = without_invisible(f"error: {error.message}{hint}")
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _meta(commit: str) -> dict[str, str]:
    return {COMMIT: commit}
