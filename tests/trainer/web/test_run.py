from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from trainer.web.app import make_app
from trainer.web.run import _Server as Server
from trainer.web.run import bind, run_app, url_of
from xpstore.errors import RefusedError, UsageError

EVERYBODY = "0.0.0.0"  # noqa: S104


def test_port_0_is_a_free_one_and_the_url_names_it():
    with bind("127.0.0.1", 0, has_keys=False) as listener:
        host, port = listener.getsockname()
        assert url_of(listener) == f"http://{host}:{port}"
        assert port


def test_short_answers_are_not_held_back():
    """asyncio switches Nagle's algorithm off where a socket says that it is TCP: else each takes 40 ms."""
    with bind("127.0.0.1", 0, has_keys=False) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_number_that_is_no_port_is_an_error():
    with pytest.raises(UsageError, match="70000 is no port"):
        bind("127.0.0.1", 70_000, has_keys=False)


def test_the_url_of_an_address_with_colons_is_one():
    class Listener:
        def getsockname(self):
            return ("::1", 80, 0, 0)

    assert url_of(Listener()) == "http://[::1]:80"


@pytest.mark.parametrize("host", [EVERYBODY, "::"])
def test_other_machines_are_served_with_keys_only(host):
    with pytest.raises(UsageError, match="no key is asked for") as told:
        bind(host, 0, has_keys=False)
    assert "127.0.0.1" in told.value.hint
    if host == EVERYBODY:
        bind(host, 0, has_keys=True).close()


def test_a_port_in_use_is_an_error():
    with bind("127.0.0.1", 0, has_keys=False) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            UsageError, match=f"cannot listen on 127.0.0.1 port {port}: address already in use"
        ):
            bind("127.0.0.1", port, has_keys=False)


@pytest.mark.parametrize("host", ["no such host", "x" * 300, "a..b", "999.1.1.1"])
def test_an_address_that_is_none_is_an_error(host, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(UsageError, match="there is no address"):
        bind(host, 0, has_keys=False)


def test_an_address_of_another_machine_cannot_be_had():
    with pytest.raises(UsageError, match=r"cannot listen on 192\.0\.2\.1"):
        bind("192.0.2.1", 0, has_keys=True)


def test_it_says_where_when_it_answers_and_the_lifespan_ends_after_the_last_answer():
    """In a thread of its own there are no signals: the application ends it."""
    events, urls = [], []
    is_ready = threading.Event()

    @asynccontextmanager
    async def lifespan(_):
        events.append("open")
        yield
        events.append("closed")

    app = make_app("t", [], lifespan=lifespan)

    def announce(url: str) -> None:
        urls.append(url)
        is_ready.set()

    servers = []

    @app.get("/end")
    async def end() -> str:
        servers[0].should_exit = True
        return "ended"

    class Kept(Server):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)
            servers.append(self)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("trainer.web.run._Server", Kept)
        codes = []
        thread = threading.Thread(
            target=lambda: codes.append(run_app(app, "127.0.0.1", 0, has_keys=False, announce=announce))
        )
        thread.start()
        assert is_ready.wait(20)
        assert events == ["open"]
        assert httpx.get(f"{urls[0]}/end").json() == "ended"
        thread.join(20)
    assert (codes, events) == ([0], ["open", "closed"])


def test_what_the_lifespan_raises_is_raised_and_nothing_is_announced():
    @asynccontextmanager
    async def lifespan(_):
        raise RefusedError("served already")
        yield

    with pytest.raises(RefusedError, match="served already"):
        run_app(make_app("t", [], lifespan=lifespan), "127.0.0.1", 0, has_keys=False, announce=pytest.fail)


HANGING = """
import asyncio, sys, time
from trainer.web import run
from trainer.web.app import make_app

run.GRACE = 0.1
app = make_app("t", [])

@app.get("/thread")
async def thread():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)
    print("hangs", flush=True)

@app.get("/loop")
async def loop():
    print("hangs", flush=True)
    time.sleep(3600)

say = lambda url: print(url, flush=True)
sys.exit(run.run_app(app, "127.0.0.1", 0, has_keys=False, announce=say, patience=0.1))
"""


@pytest.mark.parametrize("what", ["loop", pytest.param("thread", marks=pytest.mark.stress)])
def test_with_patience_a_service_ends_whatever_hangs_in_it(what):
    with subprocess.Popen([sys.executable, "-c", HANGING], text=True, stdout=subprocess.PIPE) as process:
        try:
            url = urlsplit(process.stdout.readline().strip())
            with socket.create_connection((url.hostname, url.port)) as connection:
                connection.sendall(f"GET /{what} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                assert process.stdout.readline() == "hangs\n"
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == 130
        finally:
            process.kill()
