from __future__ import annotations

import asyncio
import gzip
import logging

import pytest
from fastapi import APIRouter, FastAPI, Request
from starlette.responses import StreamingResponse

from tests.asgi import get, post, talk
from trainer.web.app import make_app
from trainer.web.keys import Access, KeyFile
from trainer.web.limits import WebLimits
from xpstore.errors import RepositoryError

ENDLESS = WebLimits(per_second=0)
JSON = {"content-type": "application/json"}


def make(*, limits: WebLimits = ENDLESS, access: Access | None = None) -> FastAPI:
    router = APIRouter()

    @router.post("/echo")
    async def echo(body: dict[str, object]) -> dict[str, object]:
        return body

    @router.post("/raw")
    async def raw(request: Request) -> int:
        return len(await request.body())

    @router.get("/who")
    async def who(request: Request) -> dict[str, str]:
        return {"name": request.state.caller.name, "id": request.state.request_id}

    @router.get("/defect")
    async def defect() -> None:
        raise ZeroDivisionError("secret of /srv")

    @router.get("/disk")
    async def disk() -> None:
        raise RepositoryError("cannot write /srv/x")

    @router.get("/late")
    async def late() -> StreamingResponse:
        async def parts():
            yield b"begun"
            raise ZeroDivisionError("secret")

        return StreamingResponse(parts())

    return make_app("t", [router], limits=limits, access=access)


def error(answer) -> dict[str, object]:
    return answer.json()["error"]


@pytest.mark.parametrize(("path", "status"), [("/defect", 500), ("/disk", 503)])
def test_no_answer_says_what_failed_inside_and_the_log_does(path, status, caplog):
    with caplog.at_level(logging.ERROR):
        answer = get(make(), path)
    told = error(answer)
    assert answer.status_code == status
    assert "/srv" not in answer.text
    assert "Traceback" not in answer.text
    assert "/srv" in caplog.text
    assert told["details"]["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-request-id"] in caplog.text


def test_what_fails_when_the_answer_has_begun_breaks_it_off():
    with pytest.raises(ConnectionAbortedError):
        get(make(), "/late")


def test_a_request_id_is_kept_where_it_is_one():
    app = make()
    kept = get(app, "/who", headers={"x-request-id": "my-1"})
    assert (kept.headers["x-request-id"], kept.json()["id"]) == ("my-1", "my-1")
    for other in ("a b", "x" * 65, "é", "<script>"):
        answer = get(app, "/who", headers={"x-request-id": other.encode()})
        assert answer.headers["x-request-id"] == answer.json()["id"] != other


async def stream(*parts: bytes):
    for part in parts:
        yield part


LIMIT = WebLimits(per_second=0, body_bytes=100)


def test_a_body_over_the_limit_is_refused_announced_or_not():
    app = make(limits=LIMIT)
    assert post(app, "/raw", content=b"x" * 100).json() == 100
    for content in (b"x" * 101, stream(b"x" * 60, b"x" * 60)):
        answer = post(app, "/raw", content=content)
        assert (answer.status_code, error(answer)["code"]) == (413, "RESOURCE_EXHAUSTED")
        assert error(answer)["details"]["limit"] == 100
    assert post(app, "/raw", content=stream(b"x" * 50, b"", b"x" * 50)).json() == 100
    assert post(app, "/raw", content=b"x" * 50, headers={"content-length": "9" * 5_000}).status_code == 413


def test_a_refused_body_is_read_to_its_end_but_not_for_ever():
    async def call(client):
        read = []

        async def much():
            for _ in range(1_000):
                read.append(1)
                yield b"x" * 90

        return len(read), (await client.post("/raw", content=much())).status_code, len(read)

    _, status, parts = talk(make(limits=LIMIT), call)
    assert status == 413
    assert parts < 10


def test_a_compressed_body_is_refused():
    packed = gzip.compress(b"{}")
    for coding in ("gzip", "Deflate", "identity, gzip"):
        answer = post(make(), "/raw", content=packed, headers={"content-encoding": coding})
        assert answer.status_code == 415
    assert post(make(), "/raw", content=b"x", headers={"content-encoding": "identity"}).json() == 1


def test_a_body_that_does_not_come_is_not_waited_for():
    async def never():
        yield b"x"
        await asyncio.Event().wait()

    answer = post(make(limits=WebLimits(per_second=0, body_seconds=0.01)), "/raw", content=never())
    assert (answer.status_code, error(answer)["code"]) == (408, "DEADLINE_EXCEEDED")


def test_a_client_that_goes_away_is_no_error(caplog):
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/raw",
        "raw_path": b"/raw",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    asyncio.run(make()(scope, receive, send))
    assert (sent, caplog.records) == ([], [])


@pytest.mark.parametrize("kind", ["application/json", "application/problem+json; charset=utf-8"])
def test_json_that_means_two_things_is_refused_whoever_reads_it(kind):
    answer = post(make(), "/raw", content=b'{"a": 1, "a": 2}', headers={"content-type": kind})
    assert (answer.status_code, error(answer)["code"]) == (400, "INVALID_ARGUMENT")
    assert (
        post(make(), "/raw", content=b'{"a": 1, "a": 2}', headers={"content-type": "text/plain"}).json() == 16
    )


def test_too_many_requests_are_told_when_to_come_back():
    async def call(client):
        return [await client.get("/who") for _ in range(4)]

    answers = talk(make(limits=WebLimits(per_second=0.1, burst=3)), call)
    assert [a.status_code for a in answers] == [200, 200, 200, 429]
    assert 9 <= int(answers[-1].headers["retry-after"]) <= 10
    assert error(answers[-1])["details"]["retry_after"] == int(answers[-1].headers["retry-after"])


@pytest.fixture
def keyed(tmp_path):
    file = KeyFile(tmp_path / "keys.json")
    keys = {name: file.add(name) for name in ("desk", "lab")}
    return make(limits=WebLimits(per_second=0.1, burst=2), access=Access(file)), keys


def test_each_key_has_its_own_rate_and_so_have_those_without(keyed):
    app, keys = keyed

    async def call(client):
        sent = [{"x-api-key": keys["desk"]}] * 3 + [{"x-api-key": keys["lab"]}] + [{}] * 3
        return [(await client.get("/who", headers=header)).status_code for header in sent]

    assert talk(app, call) == [200, 200, 429, 200, 401, 401, 429]


def test_who_has_no_key_is_told_before_his_body_is_looked_at(keyed):
    app, _ = keyed
    answer = post(app, "/echo", content=b"[" * 200, headers=JSON)
    assert (answer.status_code, error(answer)["code"]) == (401, "UNAUTHENTICATED")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_health_and_the_description_need_no_key(keyed):
    app, _ = keyed
    assert get(app, "/health").json() == {"status": "ok"}
    document = get(app, "/openapi.json").json()
    assert document["security"] == [{"key": []}, {"bearer": []}]
    assert document["paths"]["/health"]["get"]["security"] == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:80", "", "[", "[::2]"])
def test_without_keys_a_name_of_another_machine_is_refused(host):
    assert get(make(), "/who", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:1933", "[::1]:80", "127.1.2.3"])
def test_this_machine_may_be_called_by_any_of_its_names(host):
    assert get(make(), "/who", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:81", "http://["])
def test_a_page_of_another_site_is_refused_without_keys(origin):
    assert post(make(), "/echo", json={}, headers={"origin": origin}).status_code == 403
    own = {"origin": "http://127.0.0.1"}
    assert post(make(), "/echo", json={"a": 1}, headers=own).json() == {"a": 1}


def test_each_request_is_a_line_of_the_log_that_no_path_can_break(caplog):
    with caplog.at_level(logging.INFO, "xpstore.trace.web"):
        get(make(), "/who%0Afake%1b[2J")
    [line] = [r.getMessage() for r in caplog.records]
    assert "default: GET /who%0Afake%1b[2J 404" in line


def test_other_connections_than_http_pass_it_by():
    async def refused(scope, receive, send):
        await make()(scope, receive, send)

    async def receive():
        return {"type": "websocket.connect"}

    sent = []

    async def send(message):
        sent.append(message["type"])

    asyncio.run(
        refused({"type": "websocket", "path": "/who", "headers": [], "query_string": b""}, receive, send)
    )
    assert sent == ["websocket.close"]
