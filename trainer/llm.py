"""The door to models: any endpoint that speaks OpenAI's protocol. The only importer of openai and httpx2.

The client library sends; what comes back is read here, because an endpoint may send anything with status 200.
Retries are ours too (`asking/attempts.py`): each attempt has a deadline of its own, which a slow trickle of
bytes cannot move.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Self, TypeVar

import httpx2
import openai

from trainer.asking import trusted
from trainer.asking.abilities import is_too_long
from trainer.asking.attempts import AttemptError, Attempts
from trainer.asking.body import ACCEPTED, BodyError, unpacked
from trainer.asking.chat import Chat, ChatReply, Embedder, greeting
from trainer.asking.envelope import EnvelopeError, body_of, read_embeddings, read_reply, reported
from trainer.asking.quoting import excerpt
from trainer.asking.slots import Slots
from trainer.retry_after import seconds_of
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from ssl import SSLContext
    from types import TracebackType

    from pydantic import JsonValue

    from trainer.asking.chat import ChatRequest
    from xpstore.settings import LlmSettings

NO_KEY = "no-key"
"""What a server on this machine is given where no key is set."""
SHORTEST_KEY = 8
"""Characters of a key that is looked for in what comes back; shorter ones are words like `none`."""
_TRANSIENT = frozenset({408, 409, 425, 429})
MOST_PORT = 65_535
MOST_SAID = 4_000
"""Characters of an error's body that are looked through for what the endpoint cannot read."""
_OPENAI = "https://api.openai.com/v1"
_LONG = "--llm context_tokens=N, or context_tokens in [llm] of xp.toml, says what one question may hold"
_SLOW = "--llm timeout=SECONDS, or timeout in [llm] of xp.toml, says how long one answer may take"
_HINTS = {
    401: "check the key; key_variable in [llm] of xp.toml names the variable that has it;"
    " nothing more is asked before the next start",
    403: "check the key; key_variable in [llm] of xp.toml names the variable that has it",
    404: "check model and base_url in [llm] of xp.toml; base_url usually ends in /v1",
    **dict.fromkeys((301, 302, 303, 307, 308), "a key is not sent on: name the address itself as base_url"),
}
_NO_PROXY: dict[str, httpx2.AsyncBaseTransport | None] = {"http://": None, "https://": None}
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, and with what key."""

    base_url: str
    """Empty: the client's own, OpenAI."""
    key: str = NO_KEY

    @property
    def url(self) -> httpx2.URL:
        """The address; without scheme and host where it is none of the web."""
        try:
            url = httpx2.URL(self.base_url or _OPENAI)
        except httpx2.InvalidURL:
            return httpx2.URL("")
        is_one = url.scheme in {"http", "https"} and url.host and (url.port or 0) <= MOST_PORT
        return url if is_one else httpx2.URL("")

    @property
    def host(self) -> str:
        """The name of the machine, for errors: an address may contain a password."""
        return self.url.host

    @property
    def origin(self) -> str:
        """Scheme, host and port, as the client connects to them: where a key goes."""
        return f"{self.url.scheme}://{self.url.netloc.decode('ascii')}"

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine; no proxy is asked then."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False

    def scrubbed(self, text: str) -> str:
        """Return the text without the key, wherever an endpoint has echoed it."""
        for secret in (self.key, self.url.password):
            if len(secret) >= SHORTEST_KEY and secret != NO_KEY:
                text = text.replace(secret, "<key>")
        return text


def endpoint_of(settings: LlmSettings, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint that the settings and the environment name; the settings win.

    Raises UsageError as `check_trusted`, and where there is no key for an endpoint elsewhere.
    """
    endpoint = check_trusted(settings, environ)
    key = environ.get(settings.key_variable, "").strip()
    endpoint = replace(endpoint, key=key or NO_KEY)
    if not key and not endpoint.is_local:
        raise UsageError(
            f"there is no key for {endpoint.host}: {settings.key_variable} is not set",
            hint=f"set {settings.key_variable} (to anything, where the endpoint wants no key),"
            " or key_variable in [llm] of xp.toml",
        )
    if not key.isascii() or not endpoint.key.isprintable():
        raise UsageError(f"{settings.key_variable} is not a key: it has characters that no key has")
    return endpoint


def check_trusted(settings: LlmSettings, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint without its key, if it may be asked at all.

    Raises UsageError for an address that is none, and for one elsewhere that only xp.toml sends this key to.
    """
    own = Endpoint(environ.get("OPENAI_BASE_URL", "").strip())
    endpoint = Endpoint(settings.base_url) if settings.base_url else own
    if not endpoint.host:
        raise UsageError(
            "the address of the model's endpoint is not one of the web",
            hint='base_url in [llm] of xp.toml, or OPENAI_BASE_URL, is like "https://host/v1"',
        )
    if not endpoint.is_local:
        trusted.check(endpoint.origin, settings.key_variable, own.origin)
    return endpoint


@cache
def _certificates() -> SSLContext:
    """Return what connections are checked against. Reading it takes longer than anything else in a client.

    Raises UsageError where the environment names certificates that cannot be read.
    """
    try:
        return httpx2.create_ssl_context()
    except OSError as error:  # a file that is not there, or that has no certificates
        raise UsageError(
            f"the certificates to check endpoints against cannot be read: {error.strerror or error}",
            hint="SSL_CERT_FILE and SSL_CERT_DIR, where they are set, name them",
        ) from error


def _http(endpoint: Endpoint) -> httpx2.AsyncClient:
    """Return what sends. Raises UsageError where the environment names a proxy that is none."""
    try:
        return openai.DefaultAsyncHttpxClient(
            headers={"Accept-Encoding": ACCEPTED},
            event_hooks={"response": [_bound]},
            follow_redirects=False,  # questions and keys go to nobody else
            mounts=_NO_PROXY if endpoint.is_local else None,
            trust_env=not endpoint.is_local,  # what it says of proxies is not even read
            verify=_certificates(),
        )
    except (ValueError, httpx2.InvalidURL, ImportError) as error:
        raise UsageError(
            f"a proxy that the environment names cannot be used: {excerpt(str(error))}",
            hint="see HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY",
        ) from error


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error where it is too long."""

    def __init__(self, stream: httpx2.AsyncByteStream, packing: str) -> None:
        self._stream = stream
        self._packing = packing

    def __aiter__(self) -> AsyncIterator[bytes]:
        return unpacked(aiter(self._stream), self._packing)

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Have the body unpacked here, where it is bounded, and not by the client."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream, response.headers.pop("content-encoding", ""))


def _text(response: httpx2.Response) -> str:
    """Return the body: JSON is UTF-8, whatever an endpoint calls it."""
    return response.content.decode("utf-8-sig", "replace")


class OpenAIChat(Chat, Embedder):
    """An endpoint, open as long as the context lasts."""

    def __init__(self, settings: LlmSettings, slots: Slots | None = None) -> None:
        """`slots`: of a run that opens its endpoint in several places.

        Raises UsageError as `endpoint_of`, and for a proxy or certificates that cannot be used.
        """
        self._settings = settings
        self._endpoint = endpoint_of(settings)
        self._attempts = Attempts(settings, slots or Slots(settings.parallel, settings.timeout), self._greet)
        self._client = openai.AsyncOpenAI(
            api_key=self._endpoint.key,
            base_url=self._endpoint.base_url or _OPENAI,  # what was checked, whatever the client would read
            timeout=settings.timeout,
            max_retries=0,
            http_client=_http(self._endpoint),
        )

    @property
    def address(self) -> str:
        """Tells endpoints apart; it may contain a password."""
        return self._endpoint.base_url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the reply. Raises ChatError."""
        body = body_of(request)
        reply, attempts = await self._attempts.until_answered(
            lambda: self._attempt("/chat/completions", body, read_reply)
        )
        # once more, now that JSON's escapes are undone
        clean = ChatReply.model_validate_json(self._endpoint.scrubbed(reply.model_dump_json()))
        return clean.model_copy(update={"attempts": attempts})

    async def embed(self, texts: Sequence[str], model: str) -> list[tuple[float, ...]]:
        """Return one vector for each text, in order. Raises ChatError, also where there are no embeddings."""
        body: dict[str, JsonValue] = {"model": model, "input": list(texts), "encoding_format": "float"}
        vectors, _ = await self._attempts.until_answered(
            lambda: self._attempt("/embeddings", body, lambda data: read_embeddings(data, len(texts)))
        )
        return vectors

    async def _greet(self) -> ChatReply:
        body = body_of(greeting(self._settings.model))
        return await self._attempt("/chat/completions", body, read_reply)

    async def _attempt(self, path: str, body: Mapping[str, JsonValue], read: Callable[[str], Read]) -> Read:
        host = self._endpoint.host
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._client.post(path, cast_to=httpx2.Response, body=body)
                text = self._endpoint.scrubbed(_text(response))
        except (TimeoutError, openai.APITimeoutError):
            why = f"{host} did not answer within {self._settings.timeout:g} s"
            raise AttemptError("timeout", why, hint=_SLOW) from None
        except openai.APIStatusError as error:
            raise self._status_error(error) from None
        except BodyError as error:
            raise AttemptError("http", f"{host} sent {error}", final=True) from None
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            cause = self._endpoint.scrubbed(str(error.__cause__ or error))
            raise AttemptError(
                "connection", f"{host} cannot be reached: {excerpt(cause) or type(error.__cause__).__name__}"
            ) from None
        try:
            return read(text)
        except EnvelopeError as error:
            raise AttemptError(
                "http",
                f"{host} sent {excerpt(self._endpoint.scrubbed(str(error)))}",
                status=response.status_code,
                hint="base_url in [llm] of xp.toml usually ends in /v1" if text.lstrip()[:1] == "<" else "",
            ) from None

    def _status_error(self, error: openai.APIStatusError) -> AttemptError:
        status, headers = error.status_code, error.response.headers
        said = self._endpoint.scrubbed(reported(self._endpoint.scrubbed(_text(error.response))))
        return AttemptError(
            "http",
            f"{self._endpoint.host} answered {status}: {excerpt(said)}",
            status=status,
            said=said[:MOST_SAID],
            hint=_LONG if is_too_long(status, said) else _HINTS.get(status, ""),
            wait=seconds_of(headers.get("retry-after", "")),
            final=(status not in _TRANSIENT and status < 500) or headers.get("x-should-retry") == "false",
        )
