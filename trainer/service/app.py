"""The session service as an application: its routes, its tenants, its envelope."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from trainer.service import fs_routes, search_routes, session_routes, task_routes
from trainer.service.envelope import failed
from trainer.service.tenants import Tenants
from trainer.web.app import make_app
from trainer.web.keys import Access

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI

    from trainer.service.tenants import Served
    from trainer.web.keys import KeyFile
    from trainer.web.limits import WebLimits

TITLE = "xp serve"


def make_service(served: Served, *, keys: KeyFile | None = None, limits: WebLimits | None = None) -> FastAPI:
    """Return the service of a store; with `keys` whoever calls needs one, and may have a store of its own.

    Stores are opened when the application starts: that raises what `Tenants.open` raises.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        callers = ["", *(key.store for key in keys.read())] if keys else [""]
        async with Tenants.open(served, callers) as tenants:
            app.state.tenants = tenants
            yield

    release = version("xpstore")
    return make_app(
        TITLE,
        [module.router for module in (session_routes, task_routes, fs_routes, search_routes)],
        lifespan=lifespan,
        access=Access(keys) if keys else None,
        limits=limits,
        render=failed,
        health={"healthy": True, "version": release, "auth_mode": "api_key" if keys else "dev"},
        version=release,
    )
