"""The door to services that speak JSON over HTTP: the only importer of httpx, and of tenacity.

A service may answer anything, slowly or never, so every attempt has a deadline that a trickle of bytes cannot
move, every body has a bound, and what comes back is a checked JSON value. A key goes to the address that it
is for, in a header; it is in no error, no value and no log.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

import httpx
import tenacity

from trainer.remote.answer import HttpError, Kind, Reply, cleaned, decoded, kind_of, reason
from trainer.retry_after import seconds_of
from xpstore.errors import UsageError
from xpstore.hashing import mend

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ssl import SSLContext
    from types import TracebackType

    from pydantic import JsonValue

__all__ = ["HttpError", "JsonClient", "Kind", "Reply", "check_address", "is_local", "origin_of", "segment"]

MOST_BYTES = 64 << 20
"""Of a body, when it is no longer compressed."""
TIMEOUT = 30.0
RETRIES = 4
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 8.0
LONGEST_WAIT = 60.0
"""Seconds that a service may ask to wait; where it asks for more, it is not asked again."""
SHORTEST_KEY = 8
"""Characters of a key that is looked for in what comes back; shorter ones are words like `none`."""
MOST_SAID = 300
"""Characters of what a service says about an error that get into the message."""
_TRANSIENT: frozenset[Kind] = frozenset({"unreachable", "timeout", "busy", "failed"})
_SAFE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_HINTS: Mapping[int, str] = MappingProxyType(
    {
        401: "the service wants a key, or another one",
        403: "the key does not allow this",
        **dict.fromkeys((301, 302, 303, 307, 308), "nothing is sent on: name the address itself"),
    }
)


def segment(text: str) -> str:
    """Return a text as one step of a path. Raises UsageError for what a server would take for a place."""
    if text in {"", ".", ".."}:
        raise UsageError(f"{text!r} is no name that an address can have")
    return quote(mend(text), safe="")


class JsonClient:
    """A service at one address; use it as an async context, in one event loop."""

    def __init__(  # noqa: PLR0913  # how a service is asked
        self,
        base_url: str,
        *,
        key: str = "",
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        most_bytes: int = MOST_BYTES,
        longest_wait: float = LONGEST_WAIT,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`timeout` is in seconds, for one attempt; `retries` are further attempts; `headers` go with each.

        The key goes as `Authorization: Bearer`. Raises UsageError for an address or a key that is none, and
        for a proxy or certificates that the environment names and that cannot be used.
        """
        self.url = check_address(base_url)
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise UsageError("the key is none: it has characters that no key has")
        self._key = key
        self._timeout = timeout
        self._retries = retries
        self._most_bytes = most_bytes
        self._longest_wait = longest_wait
        self._client = _client(self.url, {"Authorization": f"Bearer {key}"} if key else {}, headers or {})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    @property
    def host(self) -> str:
        """The name of the machine and its port, for errors."""
        return httpx.URL(self.url).netloc.decode("ascii")

    async def get(self, path: str, params: Mapping[str, str | int] | None = None) -> JsonValue:
        """Return the value behind a path. Raises HttpError."""
        return (await self.send("GET", path, params=params)).value

    async def post(
        self,
        path: str,
        body: JsonValue,
        *,
        headers: Mapping[str, str] | None = None,
        idempotent: bool = False,
    ) -> JsonValue:
        """Return what a service answers to a value; `idempotent`: it may be sent twice. Raises HttpError."""
        return (await self.send("POST", path, body=body, headers=headers, idempotent=idempotent)).value

    async def delete(self, path: str) -> JsonValue:
        """Return what a service answers to a deletion. Raises HttpError."""
        return (await self.send("DELETE", path)).value

    async def send(  # noqa: PLR0913  # the parts of a request
        self,
        method: str,
        path: str,
        *,
        body: JsonValue = None,
        params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        idempotent: bool | None = None,
        deadline: float | None = None,
        retries: int | None = None,
    ) -> Reply:
        """Send a request until it is answered, or has failed as often as it may. Raises HttpError.

        `path` begins with a slash and is below the address; its steps are made by `segment`. It is sent again
        where that can help and `idempotent` says that it does no harm; None = what HTTP says of the method.
        `deadline` bounds all attempts together, in seconds. `retries` is how often; None = as always.
        """
        request = self._client.build_request(
            method,
            self.url + path,
            params=dict(params) if params else None,
            headers=dict(headers) if headers else None,
            content=None if body is None else _encoded(body),
        )
        if body is not None:
            request.headers["Content-Type"] = "application/json"
        is_repeatable = method in _SAFE if idempotent is None else idempotent
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda e: is_repeatable and self._is_worth_it(e)),
            stop=tenacity.stop_after_attempt(1 + (self._retries if retries is None else retries)),
            wait=_pause,
            reraise=True,
        )
        try:
            async with asyncio.timeout(deadline) as limit:
                return await retrying(self._attempt, request)
        except TimeoutError:
            if not limit.expired():
                raise
            raise HttpError("timeout", f"{self.host} did not answer within {deadline:g} s") from None

    def is_too_long(self, seconds: float | None) -> bool:
        """Say whether a service asks for more patience than there is here."""
        return seconds is not None and seconds > self._longest_wait

    def _is_worth_it(self, error: BaseException) -> bool:
        """Say whether another attempt can help."""
        if not isinstance(error, HttpError) or error.kind not in _TRANSIENT or error.status == 501:
            return False
        return not self.is_too_long(error.retry_after)

    async def _attempt(self, request: httpx.Request) -> Reply:
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.send(request, stream=True)
                try:
                    data = await self._body(response)
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.TimeoutException):
            raise HttpError("timeout", f"{self.host} did not answer within {self._timeout:g} s") from None
        except httpx.DecodingError:
            raise HttpError("wrong answer", f"{self.host} sent a body that cannot be decompressed") from None
        except httpx.HTTPError as error:
            why = self._said(str(error)) or type(error).__name__
            raise HttpError(
                "unreachable", f"{self.host} cannot be reached: {why}", hint="is the service running?"
            ) from None
        if not response.is_success:
            raise self._status_error(response, data)
        try:
            value = cleaned(decoded(data), self._scrubbed) if data else None
        except ValueError as error:
            why = (
                f"{self.host} answered {response.status_code} with what is no JSON: {self._said(str(error))}"
            )
            hint = "is it the address of the service itself?" if data.lstrip()[:1] == b"<" else ""
            raise HttpError("wrong answer", why, status=response.status_code, hint=hint) from None
        return Reply(response.status_code, value, dict(response.headers.items()))

    async def _body(self, response: httpx.Response) -> bytes:
        """Return the body. Raises HttpError where it is larger than it may be."""
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in {"", "identity", "gzip"}:  # of others, a few bytes can fill the memory at once
            raise HttpError(
                "wrong answer",
                f"{self.host} compresses its answer as nobody asked it to",
                status=response.status_code,
            )
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > self._most_bytes:
                raise HttpError(
                    "wrong answer",
                    f"{self.host} sent more than {self._most_bytes:,} bytes",
                    status=response.status_code,
                )
        return bytes(data)

    def _status_error(self, response: httpx.Response, data: bytes) -> HttpError:
        status = response.status_code
        try:
            body = cleaned(decoded(data), self._scrubbed) if data else None
        except ValueError:
            body = None
        said = self._said(reason(body))
        return HttpError(
            kind_of(status),
            f"{self.host} answered {status}{': ' if said else ''}{said}",
            status=status,
            hint=_HINTS.get(status, ""),
            body=body,
            retry_after=seconds_of(response.headers.get("retry-after", "")),
        )

    def _said(self, text: str) -> str:
        """Return what another program said as one short line without the key."""
        line = " ".join(self._scrubbed(mend(text)).split())
        line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
        return line if len(line) <= MOST_SAID else f"{line[:MOST_SAID]} …"

    def _scrubbed(self, text: str) -> str:
        return text.replace(self._key, "<key>") if len(self._key) >= SHORTEST_KEY else text


def check_address(base_url: str) -> str:
    """Return the address without a slash at its end. Raises UsageError where it is none of the web."""
    try:
        url = httpx.URL(str(httpx.URL(base_url.strip())))  # the second time without the scheme's own port
        is_one = url.scheme in {"http", "https"} and url.host and (url.port or 0) < 1 << 16
    except httpx.InvalidURL:
        is_one = False
    hint = 'it is like "http://127.0.0.1:1944"'
    if not is_one:
        raise UsageError("the address of the service is not one of the web", hint=hint)
    if url.userinfo or url.query or url.fragment:
        raise UsageError("the address of the service has more than scheme, host, port and path", hint=hint)
    return str(url).rstrip("/")


def origin_of(base_url: str) -> str:
    """Return scheme, host and port of an address, as the client connects to them: where a key goes.

    Raises UsageError where it is no address.
    """
    url = httpx.URL(check_address(base_url))
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def is_local(base_url: str) -> bool:
    """Say whether an address is on this machine. Raises UsageError where it is no address."""
    host = httpx.URL(check_address(base_url)).host
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def _certificates() -> SSLContext:
    """Return what connections are checked against. Reading it takes longer than anything else in a client."""
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise UsageError(
            f"the certificates to check services against cannot be read: {error.strerror or error}",
            hint="SSL_CERT_FILE and SSL_CERT_DIR, where they are set, name them",
        ) from error


def _client(url: str, auth: Mapping[str, str], headers: Mapping[str, str]) -> httpx.AsyncClient:
    here = is_local(url)
    try:
        return httpx.AsyncClient(
            headers={"Accept": "application/json", "Accept-Encoding": "gzip", **headers, **auth},
            timeout=None,  # noqa: S113  # every attempt has a deadline of its own
            follow_redirects=False,
            trust_env=not here,  # no proxy is asked for what is on this machine
            verify=_certificates() if url.startswith("https:") else False,
        )
    except (ValueError, httpx.InvalidURL, ImportError) as error:
        raise UsageError(
            f"a proxy that the environment names cannot be used: {type(error).__name__}",
            hint="see HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY",
        ) from error


_backoff = tenacity.wait_exponential(FIRST_PAUSE, LONGEST_PAUSE) + tenacity.wait_random(0, FIRST_PAUSE)


def _pause(state: tenacity.RetryCallState) -> float:
    """Return the seconds to wait: what the service asks for, or ever more, and not all at the same time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, HttpError) and error.retry_after is not None:
        return error.retry_after
    return _backoff(state)


def _encoded(value: JsonValue) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return mend(text).encode()
