from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Annotated

import pytest
from fastapi import APIRouter, Depends, FastAPI, Query
from pydantic import BaseModel

from tests.asgi import get, post, talk
from trainer.web.app import caller_of, make_app
from trainer.web.keys import Access, Caller, KeyFile
from xpstore.errors import NotFoundError


class Body(BaseModel):
    name: str
    count: int = 0


router = APIRouter()


@router.post("/things")
async def make_thing(body: Body) -> Body:
    return body


@router.get("/things")
async def list_things(caller: Annotated[Caller, Depends(caller_of)], limit: Annotated[int, Query(ge=0)] = 1):
    if not limit:
        raise NotFoundError("there is no thing", hint="make one")
    return {"of": caller.name}


@pytest.fixture
def app() -> FastAPI:
    return make_app("Things", [router], version="7", health={"healthy": True})


def test_it_serves_routes_and_says_that_it_is_there(app):
    assert get(app, "/health").json() == {"status": "ok", "healthy": True}
    assert get(app, "/things").json() == {"of": "default"}
    assert post(app, "/things", json={"name": "a"}).json() == {"name": "a", "count": 0}


def test_a_route_is_told_whose_key_it_is(tmp_path):
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("desk")
    app = make_app("Things", [router], access=Access(file))
    assert get(app, "/things", headers={"x-api-key": key}).json() == {"of": "desk"}


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        (
            ("POST", "/things", {"json": {"count": 1}}),
            400,
            "the request does not fit: body.name: Field required",
        ),
        (("GET", "/things?limit=-1", {}), 400, "the request does not fit: query.limit: "),
        (("GET", "/things?limit=0", {}), 404, "there is no thing"),
        (("GET", "/nothing", {}), 404, "there is no /nothing here"),
        (("GET", "/docs", {}), 404, "there is no /docs here"),
        (("DELETE", "/things", {}), 405, "DELETE is not for /things"),
        (("POST", "/things", {"content": b"name=a"}), 400, "the request does not fit: body: "),
    ],
)
def test_whatever_goes_wrong_has_one_form(app, call, status, message):
    method, path, options = call
    answer = talk(app, lambda client: client.request(method, path, **options))
    told = answer.json()["error"]
    assert answer.status_code == status
    assert told["message"].startswith(message)
    assert told["details"]["request_id"]
    assert answer.headers.get("allow") == ("GET, POST" if status == 405 else None)


def test_whoever_sends_json_as_something_else_is_told_how(app):
    told = post(app, "/things", content=b'{"name": "a"}').json()["error"]
    assert "application/json" in told["details"]["hint"]
    assert "hint" not in post(app, "/things", json=[]).json()["error"]["details"]


def test_what_was_sent_is_not_sent_back(app):
    answer = post(app, "/things", json={"name": {"password": "hunter2"}, "count": "hunter2"})
    assert answer.status_code == 400
    assert "hunter2" not in answer.text
    assert len(answer.json()["error"]["details"]["problems"]) == 2


def test_each_service_gives_its_errors_its_own_form():
    app = make_app("Things", [router], render=lambda problem: {"no": problem.code})
    assert get(app, "/nothing").json() == {"no": "NOT_FOUND"}


def test_the_lifespan_is_open_while_it_serves():
    seen = []

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        app.state.open = True
        yield
        seen.append("closed")

    app = make_app("Things", [router], lifespan=lifespan)
    talk(app, lambda client: client.get("/health"))
    assert app.state.open
    assert seen == ["closed"]


def test_the_description_tells_errors_as_they_are(app):
    document = get(app, "/openapi.json").json()
    assert document["info"] == {"title": "Things", "version": "7"}
    assert {*document["paths"]} == {"/health", "/things"}
    for path in document["paths"].values():
        for operation in path.values():
            assert "422" not in operation["responses"]
            assert operation["responses"]["default"]["description"] == "What went wrong"
    assert {*document["components"]["schemas"]} == {"Body"}
    assert "security" not in document
