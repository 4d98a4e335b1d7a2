"""`xp eval`, `xp train` and `xp gate` with a model as the agent of the order desk."""

from __future__ import annotations

import json
import re

import pytest

from tests.builders import git
from tests.e2e.llm import Learner, make_template
from tests.llm_server import Fault, Reply, Seen
from trainer.environments.order_desk.cases import suites

BROKEN = "127.0.0.1 answered 503: something went wrong"
SIZES = {"train": 2, "gate": 2, "test": 2}
ENVIRONMENT = """
[environment]
name = "order-desk"

[environment.options]
agent = "llm"
max_tokens = 64

[evaluation]
trials = 1
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    root = make_template(tmp_path_factory.mktemp("agent") / "template", retries=0, timeout=20.0)
    text = re.sub(r"\n# [^\n]*\n\[evaluation\](\n[^\n\[]+)*", "", (root / "xp.toml").read_text("utf-8"))
    (root / "xp.toml").write_text(text + ENVIRONMENT, "utf-8")
    (root / "cases").mkdir(exist_ok=True)
    for name, cases in suites(7, **SIZES).items():
        lines = "".join(f"{case.model_dump_json()}\n" for case in cases)
        (root / "cases" / f"{name}.jsonl").write_text(lines, "utf-8")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Let a model work at the desk")
    return root


@pytest.fixture
def store(template, tmp_path, capsys, monkeypatch, llm_server):
    monkeypatch.chdir(template.parent)
    return Learner(template, capsys, monkeypatch).copy(tmp_path / "s").asks(llm_server)


def looks(seen: Seen) -> object:
    if seen.messages[-1]["role"] == "tool":
        return "I am sorry, we cannot do that."
    order = re.search(r"\bO\d+\b", seen.content)
    assert order is not None
    return Reply(None, [("get_order", {"order_id": order[0]})])


def test_an_evaluation_names_the_model_and_is_not_paid_for_twice(store, llm_server):
    llm_server.on("act", looks)
    first = json.loads(store.xp("eval", "--json"))
    assert (first["agent"], first["n"], first["failures"]) == ("llm/1", 2, [])
    assert llm_server.counts == {"act": 4}
    assert json.loads(store.xp("eval", "--json"))["key"] == first["key"]
    assert llm_server.counts == {"act": 4}
    config = store.path / "xp.toml"
    config.write_text(config.read_text("utf-8").replace('model = "small"', 'model = "large"'), "utf-8")
    git(store.path, "commit", "-qam", "Ask a larger model")
    assert json.loads(store.xp("eval", "--json"))["key"] != first["key"]
    assert llm_server.counts == {"act": 8}


def test_a_fault_of_the_endpoint_is_a_failure_and_the_next_run_tries_it_again(store, llm_server):
    broken = []

    def falters(seen: Seen) -> object:
        if not broken:
            broken.append(seen)
            return Fault("status", 503)
        return looks(seen)

    llm_server.on("act", falters)
    found = json.loads(store.xp("eval", "--json", code=1))
    assert (found["n"], [f["error"] for f in found["failures"]]) == (1, [BROKEN])
    asked = len(llm_server.requests)
    found = json.loads(store.xp("eval", "--json"))
    assert (found["n"], found["failures"]) == (2, [])
    assert len(llm_server.requests) == asked + 2


def test_the_loop_learns_from_what_a_model_did(store, llm_server):
    llm_server.on("act", looks)
    report = json.loads(store.xp("train", "--trials", "1", "--json"))
    assert report["agent"] == "llm/1"
    assert report["baseline"]["n"] == 2
    (epoch,) = report["epochs"]
    assert (epoch["n"], epoch["failures"]) == (2, [])
    assert {seen.body["model"] for seen in llm_server.requests} == {"small"}


def test_without_a_model_nothing_is_run(store, llm_server):
    config = store.path / "xp.toml"
    config.write_text(config.read_text("utf-8").replace('model = "small"', 'model = ""'), "utf-8")
    git(store.path, "commit", "-qam", "Name no model")
    store.xp("eval", code=2)
    assert not llm_server.requests


def nested(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value]
    return value


ODD = (float("nan"), float("inf"), "\ud800", {"\udfff": 1}, nested(150), nested(300), "9" * 5_000, 10**400)


def test_arguments_that_nothing_can_carry_are_a_refused_call_and_end_no_run(store, llm_server):
    """A model may write NaN, half a character, or brackets without end; tools say no, and it is scored."""
    left = list(ODD)

    def odd(seen: Seen) -> object:
        if seen.messages[-1]["role"] == "tool":
            return "I am sorry, we cannot do that."
        calls = [("get_order", {"order_id": left.pop()}) for _ in range(min(len(left), 2))]
        return Reply(None, calls) if calls else "Goodbye."

    llm_server.on("act", odd)
    report = json.loads(store.xp("train", "--trials", "2", "--no-eval", "--json"))
    (epoch,) = report["epochs"]
    assert (epoch["n"], epoch["failures"]) == (4, [])
    assert not left
    assert store.xp("verify", code=0)
