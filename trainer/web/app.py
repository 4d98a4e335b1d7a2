"""An HTTP application: FastAPI behind the guard, with one form for everything that goes wrong.

    app = make_app("My service", [router], lifespan=lifespan, access=Access(KeyFile(path)), render=envelope)

`/health` and `/openapi.json` need no key. A route is an ordinary route of a `fastapi.APIRouter`; it may take
`caller: Annotated[Caller, Depends(caller_of)]`, and raises an XpError or a WebError. Bodies that arrive are
complete, within the limits, and JSON that means one thing. There is no page of documentation: it would load
programs of other sites.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NoReturn

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from trainer.web.guard import PUBLIC, Guard, is_json
from trainer.web.keys import Caller  # noqa: TC001  # FastAPI reads the types of a dependency
from trainer.web.limits import Rate, WebLimits
from trainer.web.problem import WebError, plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from fastapi import APIRouter

    from trainer.web.keys import Access
    from trainer.web.problem import Render

    Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]

AS_JSON = "send JSON, as Content-Type: application/json"
TOLD = 20
"""Problems of one request that are told."""


def make_app(  # noqa: PLR0913  # all that two services differ in
    title: str,
    routers: Sequence[APIRouter],
    *,
    lifespan: Lifespan | None = None,
    access: Access | None = None,
    limits: WebLimits | None = None,
    render: Render = plain,
    health: Mapping[str, object] | None = None,
    version: str = "1",
) -> FastAPI:
    """Return an application.

    `lifespan(app)` is open while it serves; what it opens goes to `app.state`. `access` asks for a key, None
    serves whoever reaches the port. `render` is the JSON of an error. `health` is added to {"status": "ok"}.
    """
    app = FastAPI(
        title=title,
        version=version,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan or _nothing,
        redirect_slashes=False,
    )
    for router in routers:
        app.include_router(router)
    answer = {"status": "ok", **(health or {})}

    @app.get("/health", tags=["service"])
    async def get_health() -> dict[str, object]:
        """Say that the service is there."""
        return answer

    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    limits = limits or WebLimits()
    app.add_middleware(Guard, limits=limits, render=render, rate=Rate(limits), access=access)
    app.openapi = lambda: _openapi(app, has_keys=access is not None)  # type: ignore[method-assign]
    return app


async def caller_of(request: Request) -> Caller:
    """Return who calls; for `Depends`, which takes a thread for what is not async."""
    caller: Caller = request.state.caller
    return caller


async def _invalid(request: Request, error: Exception) -> NoReturn:
    """Tell what does not fit, without what was sent."""
    if not isinstance(error, RequestValidationError):
        raise error
    rows = [
        {"where": ".".join(str(part) for part in row["loc"])[:200], "problem": str(row["msg"])[:200]}
        for row in error.errors()[:TOLD]
    ]
    first = f": {rows[0]['where']}: {rows[0]['problem']}" if rows else ""
    is_text = (
        bool(rows) and rows[0]["where"] == "body" and not is_json(request.headers.get("content-type", ""))
    )
    hint = "send JSON, as Content-Type: application/json" if is_text else ""
    raise WebError(400, f"the request does not fit{first}", hint=hint, details={"problems": rows}) from None


async def _refused(request: Request, error: Exception) -> NoReturn:
    """Tell that there is no such route, method or media type in the form of every other problem."""
    if not isinstance(error, HTTPException):
        raise error
    messages = {
        404: f"there is no {request.url.path[:200]} here",
        405: f"{request.method} is not for {request.url.path[:200]}",
    }
    message = messages.get(error.status_code, str(error.detail))
    status, headers = error.status_code, dict(error.headers or {})
    details = {"resource": request.url.path[:200], "type": "call"} if status == 404 else {}
    if status == 405:
        headers["Allow"] = ", ".join(_methods(request.app, request.url.path))
    raise WebError(status, message, details=details, headers=headers) from None


def _methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods that a path has: routers tell those of one route only."""
    described = app.openapi()["paths"].items()
    found = {
        method.upper() for form, item in described if compile_path(form)[0].match(path) for method in item
    }
    return sorted(found)


def _openapi(app: FastAPI, *, has_keys: bool) -> dict[str, object]:
    """Return the OpenAPI document: with the errors as they are, and how a key is sent."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(
        title=app.title, version=app.version, openapi_version=app.openapi_version, routes=app.routes
    )
    error = {
        "description": "What went wrong",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = error
    schemas = document.get("components", {}).get("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    if has_keys:
        kinds = {
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "bearer": {"type": "http", "scheme": "bearer"},
        }
        document.setdefault("components", {})["securitySchemes"] = kinds
        document["security"] = [{"key": []}, {"bearer": []}]
        for name in PUBLIC & document["paths"].keys():
            for operation in document["paths"][name].values():
                operation["security"] = []
    app.openapi_schema = document
    return document


@asynccontextmanager
async def _nothing(app: FastAPI) -> AsyncIterator[None]:
    """Be open without anything in it."""
    del app
    yield
