"""Run an application on a port: bind, say where, serve, end gracefully.

SIGTERM and Ctrl-C stop accepting; what was begun is answered, then the application's lifespan ends, which
finishes or keeps what it has. A second Ctrl-C waits for no request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from trainer.web.connection import bounded
from trainer.web.limits import WebLimits
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fastapi import FastAPI

trace = logging.getLogger("xpstore.trace.web")

INTERRUPTED = 130
GRACE = 30
"""Seconds for the requests that are being answered when the end is asked for."""
IDLE = 15
"""Seconds that a connection is kept for the next request: longer than clients keep theirs, usually 5."""
BACKLOG = 1024


def run_app(  # noqa: PLR0913  # where, for whom, and how it is said
    app: FastAPI,
    host: str,
    port: int,
    *,
    has_keys: bool,
    announce: Callable[[str], None],
    limits: WebLimits | None = None,
    patience: float | None = None,
) -> int:
    """Serve until a signal ends it; return the exit code: 0 after SIGTERM, 130 after Ctrl-C.

    `announce(url)` is called once, when requests are answered. Port 0 takes a free one. `limits` are those of
    connections. With `patience` the process ends so many seconds after the last answer, whatever threads and
    tasks it still has: for applications that run what others wrote, and that have on disk what they promised.
    Raises UsageError where the address cannot be had, is in use, or is not of this machine alone although no
    keys are asked for; and what the application's lifespan raises.
    """
    listener = bind(host, port, has_keys=has_keys)
    with listener:
        return asyncio.run(_serve(app, listener, announce, limits or WebLimits(), patience))


def bind(host: str, port: int, *, has_keys: bool) -> socket.socket:
    """Return a listening socket. Raises UsageError as `run_app`."""
    if not 0 <= port <= 65535:
        raise UsageError(f"{port} is no port", hint="ports go from 0 to 65535")
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"there is no address '{host}'", hint="--host 127.0.0.1 is this machine") from error
    if not has_keys and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise UsageError(
            f"{host} can be reached from other machines, and no key is asked for",
            hint="make a key first, or serve this machine alone with --host 127.0.0.1",
        )
    try:
        return _listening(family, address)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host} port {port}: {os.strerror(error.errno or 0).lower()}",
            hint="--port 0 takes one that is free",
        ) from error


def _listening(family: int, address: object) -> socket.socket:
    """Return a socket that listens. Raises OSError.

    It says that it is TCP: else asyncio does not send short answers at once, and each takes 40 ms
    (`socket.create_server` does not say so).
    """
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)  # type: ignore[arg-type]  # as getaddrinfo gives it
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address of a listening socket as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def config_of(app: FastAPI, limits: WebLimits) -> uvicorn.Config:
    """Return how uvicorn serves an application; its lifespan is somebody else's matter."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=bounded(limits),
        ws="none",
        lifespan="off",  # it is opened here: its errors are ours to tell
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whoever calls may write them
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=limits.connections,
    )


async def _serve(
    app: FastAPI,
    listener: socket.socket,
    announce: Callable[[str], None],
    limits: WebLimits,
    patience: float | None,
) -> int:
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # the guard logs what fails
    server = _Server(config_of(app, limits), lambda: announce(url_of(listener)), patience)
    async with app.router.lifespan_context(app):
        await server.serve(sockets=[listener])
        code = INTERRUPTED if server.is_interrupted else 0
        if patience is not None:
            _end_after(patience, code)
    return code


def _end_after(seconds: float, code: int) -> None:
    """End this process, if it is still there then: a thread that hangs can be ended in no other way."""

    def end() -> None:
        trace.warning("what did not end within %g s was left", seconds)
        os._exit(code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


class _Server(uvicorn.Server):
    """Says when it is ready, and leaves signals as it found them: more is done after it has ended."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], patience: float | None = None
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._patience = patience
        self.is_interrupted = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End by a signal, without having it once more afterwards; by none in a thread of its own."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, frame: object) -> None:
        del frame
        if number == signal.SIGINT:
            self.force_exit = self.should_exit
            self.is_interrupted = True
        self.should_exit = True
        if self._patience is not None:  # from here on, too: a runtime may block the loop
            spare = 0 if self.force_exit else GRACE
            _end_after(spare + self._patience, INTERRUPTED if self.is_interrupted else 0)
