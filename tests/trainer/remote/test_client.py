from __future__ import annotations

import asyncio
import gzip
import logging
from typing import TYPE_CHECKING

import pytest
import tenacity

from tests.json_server import Answer, json_server
from trainer.remote import client as http_client
from trainer.remote.client import HttpError, JsonClient, check_address, is_local, origin_of, segment
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.json_server import JsonServer

KEY = "xp_a-key-that-nobody-may-see"
PATH = "/v1/things"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonServer]:
    monkeypatch.setattr(http_client, "_backoff", lambda _: 0.0)
    with json_server() as server:
        yield server


def send(server, method="GET", path=PATH, *, body=None, idempotent=None, deadline=None, **options):
    async def work():
        async with JsonClient(server.url, **{"key": KEY, "retries": 2, **options}) as client:
            return await client.send(method, path, body=body, idempotent=idempotent, deadline=deadline)

    return asyncio.run(work())


def failure(server, method="GET", **options) -> HttpError:
    with pytest.raises(HttpError) as caught:
        send(server, method, **options)
    assert KEY not in f"{caught.value} {caught.value.hint} {caught.value.body}"
    return caught.value


def test_a_value_comes_back(server):
    server.on("POST", PATH, lambda seen: Answer(201, {"got": seen.body}, {"X-Of-It": "yes"}))
    reply = send(server, "POST", body={"ä": [1, 2.5, None]})
    assert (reply.status, reply.value) == (201, {"got": {"ä": [1, 2.5, None]}})
    assert reply.headers["x-of-it"] == "yes"
    (seen,) = server.requests
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in seen.raw


def test_no_body_is_none(server):
    server.on("DELETE", PATH, Answer(204))
    assert send(server, "DELETE").value is None


FAULTS = [  # answer, kind, status, how often it is asked with two retries
    (Answer(400, {"error": {"code": "X", "message": "no such split"}}), "refused", 400, 1),
    (Answer(401, {"error": "who?"}), "refused", 401, 1),
    (Answer(404), "gone", 404, 1),
    (Answer(410, {}), "gone", 410, 1),
    (Answer(302, b"", {"Location": "http://127.0.0.1:9/elsewhere"}), "refused", 302, 1),
    (Answer(408), "busy", 408, 3),
    (Answer(425), "busy", 425, 3),
    (Answer(429, {"detail": "full"}), "busy", 429, 3),
    (Answer(503, b"<html>"), "busy", 503, 3),
    (Answer(500, {"error": {"message": "a defect"}}), "failed", 500, 3),
    (Answer(501), "failed", 501, 1),
    ("reset", "unreachable", 0, 3),
    ("truncated", "unreachable", 0, 3),
    (Answer(200, b"<html>it works</html>"), "wrong answer", 200, 1),
    (Answer(200, b'{"a": NaN}'), "wrong answer", 200, 1),
    (Answer(200, b'{"a": 1e999}'), "wrong answer", 200, 1),
    (Answer(200, b"[" * 100_000), "wrong answer", 200, 1),
    (Answer(200, b"[" * 200 + b"]" * 200), "wrong answer", 200, 1),
    (Answer(200, b"\xff\xfe"), "wrong answer", 200, 1),
    (Answer(200, b"9" * 10_000), "wrong answer", 200, 1),
    (Answer(200, gzip.compress(b" " * 9_000_000), {"Content-Encoding": "gzip"}), "wrong answer", 200, 1),
    (Answer(200, b"no gzip", {"Content-Encoding": "gzip"}), "wrong answer", 0, 1),
    (Answer(200, b"{}", {"Content-Encoding": "br"}), "wrong answer", 200, 1),
]


@pytest.mark.parametrize(("answer", "kind", "status", "times"), FAULTS)
def test_what_goes_wrong_has_a_kind_and_is_tried_again_where_that_can_help(
    server, answer, kind, status, times
):
    server.on("GET", PATH, answer)
    error = failure(server, most_bytes=1_000_000)
    assert (error.kind, error.status) == (kind, status)
    assert len(server.requests) == times


def test_it_goes_on_where_the_next_attempt_is_answered(server):
    server.on("GET", PATH, Answer(503), "reset", {"well": True})
    assert send(server).value == {"well": True}


def test_what_may_not_be_done_twice_is_sent_once(server):
    server.on("POST", PATH, "reset")
    assert failure(server, "POST", body={}).kind == "unreachable"
    assert len(server.requests) == 1
    assert failure(server, "POST", body={}, idempotent=True).kind == "unreachable"
    assert len(server.requests) == 4


@pytest.mark.parametrize("fault", ["slow", "drip"])
def test_an_attempt_has_a_deadline_that_a_trickle_does_not_move(server, fault):
    server.on("GET", PATH, fault)
    assert failure(server, timeout=0.05, retries=1).kind == "timeout"
    assert len(server.requests) == 2


def test_all_attempts_together_have_one(server):
    server.on("GET", PATH, "slow")
    error = failure(server, deadline=0.05)
    assert error.kind == "timeout"
    assert "0.05 s" in error.message


def test_a_service_that_asks_for_much_patience_is_left_alone(server):
    server.on("GET", PATH, Answer(429, None, {"Retry-After": "3600"}))
    error = failure(server)
    assert (error.kind, error.retry_after) == ("busy", 3600)
    assert len(server.requests) == 1


def test_it_waits_as_long_as_the_service_asks_it_to():
    state = tenacity.RetryCallState(tenacity.AsyncRetrying(), None, (), {})
    state.set_exception((HttpError, HttpError("busy", "full", retry_after=17.0), None))
    assert http_client._pause(state) == 17.0


def test_pauses_grow_and_are_spread():
    state = tenacity.RetryCallState(tenacity.AsyncRetrying(), None, (), {})
    state.set_exception((HttpError, HttpError("failed", "again"), None))
    first = {http_client._pause(state) for _ in range(20)}
    state.attempt_number = 20
    assert len(first) > 1
    assert (
        max(first) < http_client.LONGEST_PAUSE <= http_client._pause(state) <= http_client.LONGEST_PAUSE + 1
    )


def test_nothing_is_there():
    error = failure(type("Nowhere", (), {"url": "http://127.0.0.1:9"}), retries=0)
    assert error.kind == "unreachable"
    assert "127.0.0.1:9 cannot be reached" in error.message


def test_no_key_in_errors_values_and_logs(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.on("GET", PATH, Answer(400, {"error": {"message": f"bad {KEY}", "more": [KEY]}}))
    error = failure(server)
    assert "bad <key>" in error.message
    server.on("GET", PATH, Answer(200, b'{"%s": "\\u0078' % KEY.encode() + KEY[1:].encode() + b'"}'))
    assert send(server).value == {"<key>": "<key>"}
    assert KEY not in caplog.text


def test_text_of_a_service_is_one_harmless_line(server):
    said = "a\nb\x1b[31m" + "c" * 1000
    server.on("GET", PATH, Answer(400, {"detail": said}), Answer(200, b'"\\ud800"'))
    message = failure(server).message
    assert message.isprintable()
    assert len(message) < 400
    assert send(server).value == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "address",
    ["", "desk", "ftp://desk", "http://", "http://a:b@desk", "http://desk/?a=b", "http://desk:99999"],
)
def test_no_address(address):
    with pytest.raises(UsageError, match="address of the service"):
        JsonClient(address)


def test_addresses():
    assert check_address("HTTP://Desk:80/api/") == "http://desk/api"
    assert origin_of("https://Desk.example:8443/api") == "https://desk.example:8443"
    assert [is_local(f"http://{host}") for host in ("localhost", "127.0.0.9:1", "[::1]", "desk")] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("key", ["a b", "ä", "a\nb"])
def test_no_key(key):
    with pytest.raises(UsageError, match="the key is none"):
        JsonClient("http://127.0.0.1:9", key=key)


def test_a_step_of_a_path(server):
    assert segment("a/../b?c#d e") == "a%2F..%2Fb%3Fc%23d%20e"
    for text in ("", ".", ".."):
        with pytest.raises(UsageError):
            segment(text)
    server.on("GET", "/v1/*", {"well": True})
    send(server, path=f"/v1/{segment('../x')}")
    assert server.paths() == ["/v1/..%2Fx"]


def test_a_proxy_is_not_asked_for_what_is_here(server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.on("GET", PATH, {"well": True})
    assert send(server).value == {"well": True}


def test_a_proxy_that_is_none(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x")
    with pytest.raises(UsageError, match="proxy"):
        JsonClient("http://desk.example")
