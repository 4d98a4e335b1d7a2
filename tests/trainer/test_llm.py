from __future__ import annotations

import asyncio
import gzip
import json
import zlib

import httpx2
import pytest

from tests.llm_server import Fault, LlmServer, Reply, Seen, completion
from tests.trainer.asking.test_trusted import trust
from trainer import llm
from trainer.asking import attempts, body
from trainer.asking.chat import ChatError, ChatRequest, Message, Tool, ToolCall
from trainer.llm import Endpoint, OpenAIChat, endpoint_of
from xpstore.errors import UsageError
from xpstore.settings import LlmSettings

KEY = "sk-proj-Zx81kQ0pWm4nVb72Lc59Ty36"
ESCAPED = KEY.replace("-", "\\u002d").replace("4", "\\u0034")
ASKED = ChatRequest(
    stage="act",
    about="a turn",
    model="scripted",
    messages=(Message(role="system", content="Stage: act\n\nDo."), Message(role="user", content="Hello")),
    max_tokens=50,
)


def settings_of(server, **changes) -> LlmSettings:
    return LlmSettings(
        **{"model": "scripted", "base_url": server.url, "retries": 0, "timeout": 20.0, **changes}
    )


def chat(settings, request=ASKED):
    async def run():
        async with OpenAIChat(settings) as door:
            return await door.chat(request)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("settings", "environ", "base_url", "key", "is_local"),
    [
        ({"base_url": "http://127.0.0.1:8/v1"}, {}, "http://127.0.0.1:8/v1", llm.NO_KEY, True),
        ({"base_url": "http://[::1]:8/v1"}, {}, "http://[::1]:8/v1", llm.NO_KEY, True),
        ({}, {"OPENAI_BASE_URL": "http://localhost:8/v1"}, "http://localhost:8/v1", llm.NO_KEY, True),
        ({}, {"OPENAI_API_KEY": KEY}, "", KEY, False),
        (
            {"base_url": "https://a.example/v1", "key_variable": "MINE"},
            {"OPENAI_BASE_URL": "https://b.example", "MINE": f" {KEY}\n", "OPENAI_API_KEY": "other"},
            "https://a.example/v1",
            KEY,
            False,
        ),
        (
            {"base_url": "https://b.example/v1"},
            {"OPENAI_BASE_URL": "https://B.example:443/other", "OPENAI_API_KEY": KEY},
            "https://b.example/v1",
            KEY,
            False,
        ),
        (
            {"base_url": "https://api.openai.com/v1"},
            {"OPENAI_API_KEY": KEY},
            "https://api.openai.com/v1",
            KEY,
            False,
        ),
    ],
)
def test_settings_win_over_the_environment(settings, environ, base_url, key, is_local):
    trust("https://a.example MINE")
    endpoint = endpoint_of(LlmSettings(**settings), environ)
    assert (endpoint.base_url, endpoint.key, endpoint.is_local) == (base_url, key, is_local)


@pytest.mark.parametrize(
    ("settings", "environ", "says"),
    [
        ({}, {}, "there is no key for api.openai.com: OPENAI_API_KEY is not set"),
        (
            {"base_url": "https://u:pw@a.example"},
            {},
            "there is no key for a.example: ",
        ),
        ({"base_url": "ftp://a.example"}, {"OPENAI_API_KEY": KEY}, "is not one of the web"),
        ({"base_url": "a.example/v1"}, {"OPENAI_API_KEY": KEY}, "is not one of the web"),
        ({"base_url": "http://[::1"}, {"OPENAI_API_KEY": KEY}, "is not one of the web"),
        ({"base_url": "http://127.0.0.1:99999/v1"}, {}, "is not one of the web"),
        ({}, {"OPENAI_API_KEY": "schlüssel-zum-modell"}, "OPENAI_API_KEY is not a key"),
        ({}, {"OPENAI_API_KEY": "two\nlines-of-secret"}, "OPENAI_API_KEY is not a key"),
    ],
)
def test_what_cannot_be_asked_is_told_without_the_secret(settings, environ, says):
    trust("https://a.example")
    with pytest.raises(UsageError) as caught:
        endpoint_of(LlmSettings(**settings), environ)
    assert says in caught.value.message
    told = caught.value.message + caught.value.hint
    assert not any(secret in told for secret in ("pw@", KEY, "schlüssel", "lines-of"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(llm_server, monkeypatch, status):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    other = LlmServer()
    other.on("act", "Hi")
    path = "/chat/completions"
    for target in (f"{other.url}{path}", f"http://localhost:{other.url.split(':')[2]}{path}", f"/v1/x{path}"):
        llm_server.on("act", Fault("status", status, location=target))
        with pytest.raises(ChatError, match=f"answered {status}") as caught:
            chat(settings_of(llm_server, retries=2))
        assert "base_url" in caught.value.hint
    other.close()
    assert (other.requests, len(llm_server.requests)) == ([], 3)


def test_a_message_goes_out_as_the_protocol_has_it(llm_server):
    llm_server.on("act", Reply("Hi", usage={"prompt_tokens": 5, "completion_tokens": 2}))
    call = ToolCall(id="c1", name="look", arguments='{"id": 1}')
    request = ASKED.model_copy(
        update={
            "messages": (
                *ASKED.messages,
                Message(role="assistant", tool_calls=(call,)),
                Message(role="tool", content="found \ud800", tool_call_id="c1"),
            ),
            "tools": (Tool(name="look", description="Looks.", parameters={"type": "object"}),),
            "seed": 7,
        }
    )
    reply = chat(settings_of(llm_server), request)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.model) == ("Hi", 5, 2, "scripted")
    (seen,) = llm_server.requests
    assert seen.body["seed"] == 7
    assert seen.body["tools"][0]["function"]["name"] == "look"
    assert seen.messages[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"id": 1}'}
    assert (seen.messages[3]["tool_call_id"], seen.messages[3]["content"]) == ("c1", "found �")
    assert seen.path == "/v1/chat/completions"


PROXIES = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


def test_a_proxy_that_is_none_is_told_where_one_is_asked(llm_server, monkeypatch):
    for name in PROXIES:
        monkeypatch.setenv(name, "nonsense://proxy")
    llm_server.on("act", "Hello.")
    assert chat(settings_of(llm_server)).text == "Hello."
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(UsageError, match="a proxy that the environment names cannot be used") as caught:
        OpenAIChat(LlmSettings(model="m"))
    assert "ALL_PROXY" in caught.value.hint


def test_certificates_that_are_not_there_are_told(llm_server, monkeypatch, tmp_path):
    llm._certificates.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(UsageError, match="certificates") as caught:
        OpenAIChat(settings_of(llm_server))
    assert "SSL_CERT_FILE" in caught.value.hint


@pytest.mark.parametrize("kind", ["hex", "rot13", "utf-16", "idna", "latin-1", "none-such"])
def test_json_is_utf_8_whatever_an_endpoint_calls_it(kind):
    text = '{"error": "größer"}'
    response = httpx2.Response(
        400, headers={"Content-Type": f"application/json; charset={kind}"}, content=text.encode("utf-8-sig")
    )
    assert llm._text(response) == text


def test_no_proxy_is_asked_for_this_machine(llm_server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    llm_server.on("act", "Hi")
    assert chat(settings_of(llm_server)).text == "Hi"


@pytest.mark.parametrize(
    "answer",
    [
        Fault("status", 401, body=f'{{"error": {{"message": "Incorrect API key provided: {KEY}"}}}}'),
        Fault("status", 500, body=f"Bearer {KEY}" * 50),
        Fault("status", 200, body=f"<html>{KEY}</html>"),
        Fault("status", 200, body=f'{{"error": {{"message": "{KEY} again"}}}}'),
        Fault("status", 200, body=f'{{"choices": null, "detail": "{"x" * 190}{KEY}"}}'),
        Fault("status", 401, body=f'{{"error": {{"message": "{ESCAPED}"}}}}'),
        Fault("status", 200, body=f'{{"error": {{"message": "{ESCAPED}"}}}}'),
    ],
    ids=["401", "500", "page", "error", "cut", "escaped", "escaped error"],
)
def test_a_key_that_an_endpoint_echoes_is_in_no_error(llm_server, monkeypatch, answer):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    llm_server.on("act", answer)
    with pytest.raises(ChatError) as caught:
        chat(settings_of(llm_server))
    error = caught.value
    assert llm_server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    seen = repr((error.message, error.hint, error.said, error.args, error.__cause__))
    assert KEY[:14] not in seen
    assert error.__suppress_context__ or error.__context__ is None


def test_a_key_that_a_model_echoes_is_in_no_reply(llm_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    llm_server.on(
        "act", [Reply(f"It is {KEY}.", [("send", {"what": KEY})]), Fault("status", 200, body=_said())]
    )
    reply = chat(settings_of(llm_server))
    assert reply.text == "It is <key>."
    assert chat(settings_of(llm_server)).text == "It is <key>."
    assert reply.tool_calls[0].arguments == '{"what": "<key>"}'


def _said() -> str:
    return f'{{"choices": [{{"message": {{"content": "It is {ESCAPED}."}}}}]}}'


def test_words_that_stand_for_no_key_are_left_alone():
    assert Endpoint("http://localhost", "none").scrubbed("none of it") == "none of it"
    assert Endpoint("http://localhost", llm.NO_KEY).scrubbed("no-key at all") == "no-key at all"
    assert Endpoint("http://u:a-password@localhost", "none").scrubbed("a-password") == "<key>"


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (Fault("status", 400), 1),
        (Fault("status", 404), 1),
        (Fault("status", 429, retry_after="121"), 1),
        (Fault("status", 429, retry_after="0"), 3),
        (Fault("status", 500, retry_after="0"), 3),
    ],
    ids=repr,
)
def test_only_what_may_pass_is_asked_for_again(llm_server, monkeypatch, fault, calls):
    monkeypatch.setattr(attempts, "FIRST_PAUSE", 0.001)
    llm_server.on("act", fault)
    with pytest.raises(ChatError) as caught:
        chat(settings_of(llm_server, retries=2))
    assert llm_server.counts["act"] == calls
    assert ("(3 attempts)" in caught.value.message) == (calls == 3)
    assert ("121 s" in caught.value.hint) == (fault.retry_after == "121")


@pytest.mark.parametrize(
    ("status", "said", "is_long"),
    [
        (413, "Payload Too Large", True),
        (400, "This model's maximum context length is 4096 tokens. Your messages have 9000 tokens.", True),
        (400, "the request exceeds the available context size. try increasing it", True),
        (422, "Input is too long for the requested model", True),
        (500, "prompt has too many tokens", True),
        (400, "the model is not there", False),
        (500, "context deadline exceeded", False),
        (400, "unknown parameter max_tokens", False),
        (429, "Too many requests", False),
        (401, "context", False),
    ],
)
def test_a_question_that_is_too_long_is_told_with_what_to_do(llm_server, status, said, is_long):
    llm_server.on("act", Fault("status", status, body=json.dumps({"error": {"message": said}})))
    with pytest.raises(ChatError) as caught:
        chat(settings_of(llm_server))
    assert ("context_tokens" in caught.value.hint) == is_long


@pytest.mark.parametrize("name", ["reset", "truncated", "malformed", "no_choices"])
def test_a_connection_that_breaks_is_made_again(llm_server, monkeypatch, name):
    monkeypatch.setattr(attempts, "FIRST_PAUSE", 0.001)
    llm_server.on("act", [Fault(name), "Hi"])
    assert chat(settings_of(llm_server, retries=1)).text == "Hi"


def test_nobody_there():
    with pytest.raises(ChatError, match=r"127\.0\.0\.1 cannot be reached") as caught:
        chat(LlmSettings(model="m", base_url="http://127.0.0.1:9/v1", retries=0))
    assert caught.value.fault == "connection"


def test_each_attempt_has_a_deadline_of_its_own(llm_server, monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_PAUSE", 0.001)
    llm_server.on("act", [Fault("drip"), "Hi"])
    assert chat(settings_of(llm_server, retries=1, timeout=2.0)).text == "Hi"


def test_whoever_is_cancelled_closes_the_connection(llm_server):
    """The server sees the end of the connection while the client's loop still runs."""

    async def run() -> None:
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def answer(_: Seen) -> Fault:
            loop.call_soon_threadsafe(arrived.set)
            return Fault("drip")

        llm_server.on("act", answer)
        async with OpenAIChat(settings_of(llm_server)) as door:
            task = asyncio.create_task(door.chat(ASKED))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(llm_server.wait_idle), "the server still writes to it"

    asyncio.run(run())


def test_embeddings_come_in_order(llm_server):
    llm_server.vectors = lambda text: [float(len(text)), 1.0]

    async def run():
        async with OpenAIChat(settings_of(llm_server)) as door:
            return await door.embed(["a", "bbb"], "small")

    assert asyncio.run(run()) == [(1.0, 1.0), (3.0, 1.0)]
    assert llm_server.requests[0].body == {
        "model": "small",
        "input": ["a", "bbb"],
        "encoding_format": "float",
    }


def test_an_endpoint_without_embeddings_says_so(llm_server):
    async def run():
        async with OpenAIChat(settings_of(llm_server)) as door:
            return await door.embed(["a"], "small")

    with pytest.raises(ChatError, match="no embeddings here") as caught:
        asyncio.run(run())
    assert caught.value.status == 404


def test_a_key_that_was_refused_is_not_tried_again(llm_server):
    llm_server.on("act", Fault("status", 401))

    async def twice() -> list[ChatError]:
        errors = []
        async with OpenAIChat(settings_of(llm_server)) as endpoint:
            for _ in range(2):
                with pytest.raises(ChatError, match="answered 401") as caught:
                    await endpoint.chat(ASKED)
                errors.append(caught.value)
        return errors

    first, second = asyncio.run(twice())
    assert (first.status, first.hint) == (second.status, second.hint)
    assert len(llm_server.requests) == 1


PACKED = {
    "gzip": lambda data: gzip.compress(data, 9),
    "deflate": lambda data: zlib.compress(data, 9),
    "identity": lambda data: data,
}
BOMB = b" " * (body.MOST_BYTES + 1)


def _packed(how, data, status=200):
    return Fault("body", status, content=PACKED[how](data), headers={"Content-Encoding": how})


@pytest.mark.parametrize("how", PACKED)
def test_an_answer_may_be_packed(llm_server, how):
    data = completion({"messages": [], "model": "m"}, Reply("Grüße")).encode()
    llm_server.on("act", _packed(how, data))
    assert chat(settings_of(llm_server)).text == "Grüße"
    assert llm_server.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("how", PACKED)
def test_an_answer_that_is_too_long_is_no_answer(llm_server, how, status):
    """Neither a small one that unpacks to a large one, nor an error's."""
    llm_server.on("act", _packed(how, BOMB, status))
    with pytest.raises(ChatError, match=r"127\.0\.0\.1 sent an answer of more than 8 MB$") as caught:
        chat(settings_of(llm_server, retries=2))
    assert caught.value.fault == "http"
    assert llm_server.counts["act"] == 1, "it would be too long again"


@pytest.mark.parametrize("layers", [1, 2])
def test_an_endless_answer_ends(llm_server, layers):
    """Also where it says that it is packed, and packed again."""
    coding = {1: "gzip", 2: "gzip, gzip"}[layers]
    llm_server.on("act", Fault("endless", content=gzip.compress(BOMB), headers={"Content-Encoding": coding}))
    with pytest.raises(ChatError, match="sent an answer") as caught:
        chat(settings_of(llm_server))
    assert caught.value.fault == "http"
    assert llm_server.wait_idle(), "the connection is closed"


def test_an_answer_that_is_not_packed_as_it_says_is_no_answer(llm_server):
    llm_server.on("act", Fault("body", content=b"{}", headers={"Content-Encoding": "gzip"}))
    with pytest.raises(ChatError, match="sent an answer that cannot be unpacked"):
        chat(settings_of(llm_server))


def test_a_small_answer_as_long_as_allowed_is_read(llm_server):
    text = completion({"messages": [], "model": "m"}, Reply("Hi")).encode()
    padded = text + b" " * (body.MOST_BYTES - len(text))
    llm_server.on("act", _packed("gzip", padded))
    assert chat(settings_of(llm_server)).text == "Hi"


@pytest.mark.parametrize(("greeted", "asked"), [("yes", 5), (Fault("status", 500), 5), (Fault("slow"), 3)])
def test_an_endpoint_that_does_not_even_greet_is_not_asked_again(llm_server, greeted, asked):
    llm_server.on("act", Fault("slow"))
    llm_server.on("probe", greeted)

    async def five() -> list[str]:
        faults = []
        async with OpenAIChat(settings_of(llm_server, timeout=0.3)) as door:
            for _ in range(5):
                with pytest.raises(ChatError, match=r"did not answer within 0\.3 s") as caught:
                    await door.chat(ASKED)
                faults.append(caught.value.fault)
        return faults

    assert asyncio.run(five()) == ["timeout"] * 5
    assert llm_server.counts["act"] == asked
    assert llm_server.counts["probe"] >= 1
