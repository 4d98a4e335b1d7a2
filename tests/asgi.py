"""Talk to an application without a network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import httpx

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi import FastAPI

T = TypeVar("T")


def talk(app: FastAPI, work: Callable[[httpx.AsyncClient], Awaitable[T]]) -> T:
    """Open the application, let `work` call it, close it."""

    async def main() -> T:
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 40000))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
        ):
            return await work(client)

    return asyncio.run(main())


def get(app: FastAPI, path: str, **options: object) -> httpx.Response:
    return talk(app, lambda client: client.get(path, **options))


def post(app: FastAPI, path: str, **options: object) -> httpx.Response:
    return talk(app, lambda client: client.post(path, **options))
