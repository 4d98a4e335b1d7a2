from __future__ import annotations

import json
import logging
import socket

import pytest

from tests.builders import make_store
from trainer.web.keys import Access, KeyFile
from xpstore.cli.main import run


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield make_store(tmp_path / "s")
    log = logging.getLogger()
    log.handlers = [handler for handler in log.handlers if handler.__class__.__name__ != "_Log"]


@pytest.fixture
def xp(store, capsys):  # noqa: ARG001  # the store is where it runs
    """Return a function that runs `xp -C s serve …` and gives exit code, output, errors."""

    def xp(*words: str) -> tuple[int, str, str]:
        code = run(["-C", "s", "serve", *words])
        return code, *capsys.readouterr()

    return xp


def keys_of(store) -> KeyFile:
    return KeyFile(store.repo.common_dir / "xpstore.service" / f"{store.config.id}.keys.json")


def test_a_key_is_made_listed_and_dropped(xp, store):
    code, key, said = xp("key", "add", "desk")
    assert code == 0
    assert "not shown again" in said
    assert Access(keys_of(store)).caller(lambda name: {"x-api-key": key.strip()}.get(name, "")).name == "desk"
    assert key.strip() not in keys_of(store).path.read_text()
    assert xp("key", "list") == (0, "1 key\n  desk\n", "")
    assert xp("key", "drop", "desk", "-n")[1] == "Would drop the key of 'desk'\n"
    assert xp("key", "drop", "desk")[1] == "Dropped the key of 'desk'\n"
    assert xp("key", "list") == (0, "0 keys\n", "")


def test_programs_are_told_in_json(xp, tmp_path):
    make_store(tmp_path / "other")
    made = json.loads(xp("key", "add", "lab", "--for", "../other", "--keys", "k.json", "--json")[1])
    assert made["key"].startswith("xp_")
    assert (made["name"], made["store"], made["dry_run"]) == ("lab", str(tmp_path / "other"), False)
    assert made["file"] == str(tmp_path / "s" / "k.json")
    listed = json.loads(xp("key", "list", "--keys", "k.json", "--json")[1])
    assert listed["keys"] == [{"name": "lab", "store": str(tmp_path / "other")}]
    assert f"for {tmp_path / 'other'}" in xp("key", "list", "--keys", "k.json")[1]
    dropped = json.loads(xp("key", "drop", "lab", "--keys", "k.json", "--json")[1])
    assert dropped == {"dry_run": False, "name": "lab"}


def test_keys_of_an_environment_need_no_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["serve", "key", "add", "desk", "--keys", "k.json"]) == 0
    assert run(["serve", "key", "list", "--keys", "k.json"]) == 0
    assert run(["serve", "key", "drop", "desk", "--keys", "k.json"]) == 0
    assert "1 key\n  desk\n" in capsys.readouterr().out
    assert run(["serve", "key", "list"]) == 2


def test_a_dry_run_makes_no_key_and_says_what_would_be_wrong(xp, store):
    assert xp("key", "add", "desk", "-n")[:2] == (0, "Would make a key named 'desk'\n")
    assert not keys_of(store).path.exists()
    assert json.loads(xp("key", "add", "desk", "-n", "--json")[1])["key"] is None
    for words in (["A b"], ["desk", "--for", ".."]):
        code, _, said = xp("key", "add", "-n", *words)
        assert (code, said.startswith("error: ")) == (2, True)
    assert xp("key", "drop", "desk")[0] == 1


def test_other_machines_are_refused_without_a_key(xp):
    code, out, said = xp("--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert (code, out) == (2, "")
    assert said.startswith("error: 0.0.0.0 can be reached from other machines, and no key is asked for\n")


def test_a_port_in_use_is_one_clear_error(xp):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, out, said = xp("--port", port)
        assert (code, out) == (2, "")
        assert said == (
            f"error: cannot listen on 127.0.0.1 port {port}: address already in use\n"
            "hint: --port 0 takes one that is free\n"
        )
        told = json.loads(xp("--port", port, "--json")[1])
        assert told["error"] == "UsageError"


def test_a_file_without_keys_does_not_mean_that_anybody_may_call(xp):
    code, _, said = xp("--keys", "none.json", "--port", "0")
    assert (code, "there is no key in" in said) == (2, True)
    xp("key", "add", "desk")
    xp("key", "drop", "desk")
    code, _, said = xp("--port", "0")
    assert (code, "there is no key in" in said) == (2, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--ref", "no-such-branch"], 1),
        (["--branch", "-x"], 2),
        (["--port", "70000"], 2),
        (["--model", "m"], 2),
        (["--rate", "-1"], 2),
    ],
)
def test_what_cannot_be_served_is_told_before_anything_is_opened(xp, words, code):
    got, out, said = xp("--port", "0", *words)
    assert (got, out, said.startswith("error: ")) == (code, "", True)


def test_a_missing_store_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["serve"]) == 2
    assert "is in no git repository" in capsys.readouterr().err
