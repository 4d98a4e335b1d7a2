"""Talk to an application without a network."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import httpx

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fastapi import FastAPI

T = TypeVar("T")


def talk(app: FastAPI, work: Callable[[httpx.AsyncClient], Awaitable[T]]) -> T:
    """Open the application, let `work` call it, close it."""
    with opened(app) as talking:
        return talking.do(work)


def get(app: FastAPI, path: str, **options: object) -> httpx.Response:
    return talk(app, lambda client: client.get(path, **options))


def post(app: FastAPI, path: str, **options: object) -> httpx.Response:
    return talk(app, lambda client: client.post(path, **options))


@dataclass(frozen=True)
class Talking:
    """An application that is open, and who calls it."""

    runner: asyncio.Runner
    client: httpx.AsyncClient

    def do(self, work: Callable[[httpx.AsyncClient], Awaitable[T]]) -> T:
        async def main() -> T:
            return await work(self.client)

        return self.runner.run(main())

    def request(self, method: str, path: str, **options: object) -> httpx.Response:
        return self.do(lambda client: client.request(method, path, **options))


@contextmanager
def opened(app: FastAPI) -> Iterator[Talking]:
    """Open the application for several calls."""
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 40000))
    client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
    with asyncio.Runner() as runner:
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        try:
            yield Talking(runner, client)
        finally:
            runner.run(client.aclose())
            runner.run(lifespan.__aexit__(None, None, None))
