"""A store that would have keys sent to a host of its own choice: nothing arrives there."""

from __future__ import annotations

import json
import shlex
import socket

import pytest

from tests.builders import git
from tests.e2e.llm import Learner, make_template
from trainer.environments.order_desk import suites
from trainer.suite import write_suite
from xpstore.cli.main import run

KEY = "wJalrXUtnFEMIK7MDENGbPxRfiCYzGoodKey"
HOST = "llm.store.example"


@pytest.fixture
def asked(monkeypatch):
    """The names that were looked up; the server is where the store says."""
    names = []
    look_up = socket.getaddrinfo

    def listening(host, *args, **kwargs):
        host = host.decode() if isinstance(host, bytes) else host
        names.append(host)
        return look_up("127.0.0.1" if host == HOST else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", listening)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://mine.example/v1")
    return names


@pytest.fixture
def learner(tmp_path, capsys, monkeypatch):
    """Make a store whose xp.toml says so."""
    return lambda **settings: Learner(make_template(tmp_path / "s", **settings), capsys, monkeypatch)


def address(server):
    return server.url.replace("127.0.0.1", HOST)


def refused(store, *words):
    """Return the command that the refusal names; the store is as it was."""
    before = store.refs()
    store.capsys.readouterr()
    assert run(["-C", str(store.path), *words]) == 2
    err = store.capsys.readouterr().err
    assert store.refs() == before
    assert KEY not in err
    assert "Traceback" not in err
    return shlex.split(err.partition("hint: if you do: ")[2])


@pytest.mark.parametrize("variable", ["AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY"])
def test_no_key_goes_where_only_the_store_says(llm_server, learner, asked, variable):
    store = learner(base_url=address(llm_server), key_variable=variable, retries=0)
    lines = [{"messages": [{"role": "user", "content": f"Cancel O{n}."}], "score": n % 2} for n in range(4)]
    recordings = store.path.parent / "r.jsonl"
    recordings.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    store.monkeypatch.chdir(store.path)  # what the repository says itself does not count, also there
    git(store.path, "config", "xp.trustedModelHost", f"{address(llm_server).removesuffix('/v1')} {variable}")
    git(store.path, "config", "--add", "xp.trustedModelHost", address(llm_server).removesuffix("/v1"))
    words = ("train", str(recordings), "--learner", "llm")
    command = refused(store, *words)
    assert refused(store, "land", "main", "--resolver", "llm") == command
    assert refused(store, *words, "--dry-run") == command, "what a run would say"
    assert (asked, llm_server.requests) == ([], [])

    assert command[:5] == ["git", "config", "--global", "--add", "xp.trustedModelHost"]
    git(store.path, *command[1:])
    store.train(str(recordings), code=1)  # it hears of nothing that it knows
    assert {seen.headers["authorization"] for seen in llm_server.requests} == {f"Bearer {KEY}"}
    assert set(asked) == {HOST}


def test_no_key_goes_where_an_environment_says(llm_server, learner, asked):
    store = learner()
    path = store.path
    with (path / "xp.toml").open("a", encoding="utf-8") as file:
        file.write('\n[environment]\nname = "order-desk"\n\n[environment.options]\nagent = "llm"\n')
        file.write(f'base_url = "{address(llm_server)}"\nkey_variable = "AWS_SECRET_ACCESS_KEY"\n')
    (path / "cases").mkdir()
    for suite, cases in suites(7, train=2, gate=0, test=1).items():
        (path / "cases" / f"{suite}.jsonl").write_bytes(write_suite(cases))
    git(path, "add", ".")
    git(path, "commit", "-qm", "Open the desk")
    command = refused(store, "eval")
    assert refused(store, "train") == command
    assert (asked, llm_server.requests) == ([], [])

    assert command[-1].endswith(" AWS_SECRET_ACCESS_KEY")
    git(store.path, *command[1:])
    llm_server.on("act", "That is done.")
    store.xp("eval", "--trials", "1")
    assert {seen.headers["authorization"] for seen in llm_server.requests} == {f"Bearer {KEY}"}
