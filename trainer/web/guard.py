"""What stands before every application: who calls, how often, how much, and no traceback in any answer.

In this order: a request id, the caller, the rate, the whole body within its limits. What a route raises ends
here. Written on ASGI itself: a body that is streamed has to be counted before anybody reads it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from trainer.web.json_body import check_json
from trainer.web.keys import ANYBODY
from trainer.web.limits import Rate, too_large
from trainer.web.problem import Problem, WebError, code_of, encoded, problem_of
from xpstore.errors import XpError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from trainer.web.keys import Access, Caller
    from trainer.web.limits import WebLimits
    from trainer.web.problem import Render

trace = logging.getLogger("xpstore.trace.web")

PUBLIC = frozenset({"/health", "/openapi.json"})
"""What needs no key."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
DEFECT = "this is a defect of the service; its log says more under this request id"


class _GoneError(Exception):
    """The client went away before its request was complete."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The middleware. Puts `caller` (a Caller) and `request_id` into the state of a request."""

    app: ASGIApp
    limits: WebLimits
    render: Render
    rate: Rate
    access: Access | None = None
    """None = anybody who reaches the port, which is then a port of loopback."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send)
        scope.setdefault("state", {})
        begun = time.monotonic()
        try:
            await self._respond(scope, exchange)
        finally:
            target = scope.get("raw_path", b"").decode("ascii", "backslashreplace")
            caller, spent = scope["state"].get("caller", ANYBODY).name, 1000 * (time.monotonic() - begun)
            line = f"{exchange.request_id} {caller}: {scope['method']} {target} {exchange.status}"
            trace.info("%s (%.0f ms)", line, spent)

    async def _respond(self, scope: Scope, exchange: _Exchange) -> None:
        try:
            await self._serve(scope, exchange)
        except _GoneError:
            return
        except XpError as error:
            problem = problem_of(error)
            if problem.status >= 500:
                trace.error("request %s: %s", exchange.request_id, error.message)
            await self._answer(exchange, problem)
        except Exception:  # noqa: BLE001  # whatever it is: the caller must not see it, and the log must
            trace.exception("request %s failed", exchange.request_id)
            await self._answer(exchange, Problem(500, code_of(500), DEFECT))

    async def _serve(self, scope: Scope, exchange: _Exchange) -> None:
        scope["state"]["request_id"] = exchange.request_id
        scope["state"]["caller"] = self._caller(scope, exchange)
        if exchange.header("content-encoding").strip().lower() not in {"", "identity"}:
            raise WebError(415, "the request is compressed, and bodies are read as they are")
        body = await exchange.body(self.limits)
        if is_json(exchange.header("content-type")):
            check_json(body, self.limits.depth)
        await self.app(scope, exchange.replay, exchange.send)

    def _caller(self, scope: Scope, exchange: _Exchange) -> Caller:
        client = scope.get("client")
        address = f"@{client[0] if client else ''}"  # no name of a key begins so
        if scope["path"] in PUBLIC:
            self._count(address)
            return ANYBODY
        if self.access is None:
            _refuse_other_sites(exchange)
            self._count(address)
            return ANYBODY
        try:
            caller = self.access.caller(exchange.header)
        except WebError:
            self._count(address)
            raise
        self._count(caller.name)
        return caller

    def _count(self, who: str) -> None:
        wait = self.rate.take(who)
        if wait:
            seconds = ceil(wait)
            raise WebError(
                429,
                f"too many requests: try again in {seconds} s",
                details={"retry_after": seconds},
                headers={"Retry-After": str(seconds)},
            )

    async def _answer(self, exchange: _Exchange, problem: Problem) -> None:
        if exchange.status:  # a status was sent: only breaking off tells the client that this is not all
            raise ConnectionAbortedError(problem.message)
        details = {**problem.details, "request_id": exchange.request_id}
        shown = Problem(problem.status, problem.code, problem.message, details)
        body = encoded(self.render(shown))
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **problem.headers}
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await exchange.send({"type": "http.response.start", "status": problem.status, "headers": pairs})
        await exchange.send({"type": "http.response.body", "body": body, "more_body": True})
        with suppress(_GoneError):
            await exchange.drain(self.limits)
        await exchange.send({"type": "http.response.body"})


class _Exchange:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._receive, self._send = receive, send
        self._body: bytes | None = None
        self._is_read = self._is_replayed = False
        self.status = 0
        """Of the answer; 0 = it has not begun."""
        sent = self.header("x-request-id")
        self.request_id = sent if _REQUEST_ID.fullmatch(sent) else secrets.token_hex(8)

    def header(self, name: str) -> str:
        """Return the first header of this name (in small letters), "" = there is none."""
        key = name.encode("ascii")
        return next((value.decode("latin-1") for k, value in self._headers if k == key), "")

    async def body(self, limits: WebLimits) -> bytes:
        """Return the whole body. Raises WebError (413, 408)."""
        announced = self.header("content-length")
        if announced.isdecimal() and (len(announced) > 18 or int(announced) > limits.body_bytes):
            raise too_large(limits.body_bytes)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(limits.body_seconds):
                while not self._is_read:
                    part = await self._part()
                    size += len(part)
                    if size > limits.body_bytes:
                        raise too_large(limits.body_bytes)
                    parts.append(part)
        except TimeoutError:
            raise WebError(408, f"the request was not complete within {limits.body_seconds:g} s") from None
        self._body = b"".join(parts)
        return self._body

    async def drain(self, limits: WebLimits) -> None:
        """Read what is left of a request that is answered already: else a client that still sends is cut off.

        Gives up where there is much more than is allowed, or it does not come.
        """
        left = limits.body_bytes
        with suppress(TimeoutError):
            async with asyncio.timeout(min(limits.body_seconds, 5.0)):
                while not self._is_read and left > 0:
                    left -= len(await self._part())

    async def _part(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        self._is_read = not message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def replay(self) -> Message:
        """Be the `receive` of the application."""
        if self._is_replayed:
            return await self._receive()
        self._is_replayed = True
        return {"type": "http.request", "body": self._body or b"", "more_body": False}

    async def send(self, message: Message) -> None:
        """Be the `send` of the application."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            headers = [*message.get("headers", ()), (b"x-request-id", self.request_id.encode("ascii"))]
            message = {**message, "headers": headers}
        await self._send(message)


def _refuse_other_sites(exchange: _Exchange) -> None:
    """Refuse what a web page of somebody else lets a browser send to a port without keys.

    Raises WebError (403) where Host is no name of this machine (DNS rebinding), or Origin is another site.
    """
    host = exchange.header("host")
    origin = exchange.header("origin")
    if not _is_here(_name(host)):
        raise WebError(
            403, "without keys only this machine is served", hint="call it by 127.0.0.1 or localhost"
        )
    if origin and origin.partition("://")[2].lower() != host.lower():
        raise WebError(403, "a page of another site may not call this service")


def _name(netloc: str) -> str:
    """Return the host of `host:port`, in small letters."""
    host = netloc.rpartition("]")[0].lstrip("[") if netloc.startswith("[") else netloc.partition(":")[0]
    return host.lower()


def _is_here(name: str) -> bool:
    """Return whether a name of a Host header can only be this machine."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_json(content_type: str) -> bool:
    """Return whether a Content-Type says that a body is JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
