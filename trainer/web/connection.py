"""A connection that waits for nobody for ever.

uvicorn counts the connections that are open, and has no limit for what comes in slowly: a few hundred clients
that begin a request and never end it would keep everybody else out. Here a connection is closed whose request
has no complete headers in time, or whose answer is not read; and what is more than can be borne is not kept.
(Bodies that come slowly are answered by the guard.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    import uvicorn
    from uvicorn.server import ServerState

    from trainer.web.limits import WebLimits

TOLD = 2
"""As many times the limit of connections are kept long enough to be told that there are too many."""


class Connection(H11Protocol):
    """One connection, within the limits that `bounded` has set."""

    limits: WebLimits

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._headers_end: asyncio.TimerHandle | None = None
        self._reading_ends: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the headers of the first request."""
        super().connection_made(transport)
        if len(self.connections) > TOLD * self.limits.connections:
            transport.abort()
            return
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Take what came; headers that are not complete yet have as long as they had."""
        super().data_received(data)
        self._expect_headers()

    def on_response_complete(self) -> None:
        """Go on to the next request, and see that the answer is read."""
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._expect_reading()

    def pause_writing(self) -> None:
        """Begin to wait for somebody who reads."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        self._reading_ends = _stop(self._reading_ends)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._headers_end = _stop(self._headers_end)
        self._reading_ends = _stop(self._reading_ends)
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            self._headers_end = _stop(self._headers_end)
        elif self._headers_end is None and self.timeout_keep_alive_task is None:
            self._headers_end = self.loop.call_later(self.limits.header_seconds, self.transport.abort)

    def _expect_reading(self) -> None:
        _stop(self._reading_ends)
        self._reading_ends = self.loop.call_later(self.limits.body_seconds, self._end_unread)

    def _end_unread(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()


def bounded(limits: WebLimits) -> type[Connection]:
    """Return the class of connections within these limits: uvicorn makes them itself."""
    return cast("type[Connection]", type("Connection", (Connection,), {"limits": limits}))


def _stop(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Return what is left of a timer: nothing."""
    if timer is not None:
        timer.cancel()
    return None
