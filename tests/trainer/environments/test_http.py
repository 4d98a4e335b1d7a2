"""The environment over HTTP is the one in process: rollout by rollout, score by score."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.builders import git
from tests.env_world import POLICY, Words, serving, word_case
from tests.json_server import json_server
from tests.served import small_store
from tests.trainer.contract import check_environment, context, run
from trainer.env_kit.experiences import reader_of
from trainer.env_kit.service import make_service
from trainer.environment import load_environment
from trainer.environments.http import HttpEnvironment, make
from trainer.environments.order_desk import make as make_desk
from trainer.environments.order_desk import suites
from trainer.environments.order_desk.service import make_runtime
from trainer.remote.client import HttpError
from trainer.remote.rollout import RemoteError
from xpstore.errors import UsageError
from xpstore.experience import Experience, ExperienceSet
from xpstore.location import Location
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.domain import Case

KEY = "xp_a-key-that-nobody-may-see"
CASES = suites(7, train=12, gate=0, test=6)
LESSONS = ExperienceSet(
    root_uri="experiences",
    policies=(
        Experience(
            name="cancelling",
            text="---\ndescription: When a customer cancels an order\n---\n\n"
            "## Approach\n\n- Always call `check_identity` before `cancel_order`.\n",
        ),
        Experience(name="odd", text="---\nname: [\n---\n- broken\n"),
    ),
    snapshot_id="5" * 40,
)


@pytest.fixture(scope="module")
def desk() -> Iterator[str]:
    with serving(make_service(make_runtime())) as url:
        yield url


@pytest.mark.parametrize(
    ("policies", "count"), [(LESSONS, 18), (ExperienceSet(root_uri="experiences"), 6)], ids=["some", "none"]
)
def test_the_order_desk_over_http_is_the_one_in_process(desk, policies, count):
    here, there = make_desk({}).executor(), make({"url": desk}).executor()
    known = [*CASES["train"], *CASES["test"]][:count]
    # the desk works on cases of others, too, as they are sent
    own = [case.model_copy(update={"name": f"my-{case.name}"}) for case in known[:3]]

    async def both(case: Case, number: int) -> None:
        told = context(number, seed=number, training=bool(number % 2))
        told = told.model_copy(update={"metadata": {"trial": number, "epoch": 0}})
        one, two = [(await executor.execute([case], policies, told))[0] for executor in (here, there)]
        assert two == one
        assert two.id == one.id

    async def work() -> None:
        await asyncio.gather(*(both(case, number) for number, case in enumerate([*known, *own])))

    asyncio.run(work())


def test_the_contract_of_environments(desk):
    check_environment(make({"url": desk}), CASES["test"][:2], LESSONS)


def test_it_is_named_by_what_the_service_says(desk):
    here, there = make_desk({}), make({"url": desk})
    assert (there.name, there.agent, there.model, there.simulator) == ("http", here.agent, "", "")
    assert there.version == "1 order-desk"
    assert there.code == f"order-desk {here.version} {here.code}"
    assert isinstance(load_environment("http", {"url": desk}), HttpEnvironment)


def test_options():
    made = make(
        {
            "url": "http://127.0.0.1:1944/",
            "options": {"turns": 3},
            "case_input": ["a"],
            "time_limit": 5,
            "pinned": False,
            "root_uri": "viking://x",
        }
    )
    assert made == HttpEnvironment(
        "http://127.0.0.1:1944", "", {"turns": 3}, ("a",), 5.0, pinned=False, root_uri="viking://x"
    )
    assert make({"url": "http://127.0.0.1:1944"}).case_input is None


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "url is missing"),
        ({"url": "desk"}, "not one of the web"),
        ({"url": "http://127.0.0.1:1", "moon": 1}, "no option 'moon'"),
        ({"url": "http://127.0.0.1:1", "options": 1}, "options must be a table"),
        ({"url": "http://127.0.0.1:1", "case_input": [1]}, "case_input must be a list"),
        ({"url": "http://127.0.0.1:1", "pinned": "no"}, "pinned must be true or false"),
        ({"url": "http://127.0.0.1:1", "time_limit": 0}, "time_limit must be a number"),
    ],
)
def test_options_that_are_none(options, why):
    with pytest.raises(UsageError, match=why):
        load_environment("http", options)


def test_options_go_with_every_rollout():
    runtime = Words()
    with serving(make_service(runtime)) as url:
        executor = make({"url": url, "options": {"turns": 3}}).executor()
        assert run(executor, word_case(0), POLICY, context(1)).case == word_case(0)
    assert runtime.requests[0].options == {"turns": 3}


def test_a_service_reads_the_experiences_of_that_commit_itself(tmp_path):
    store = small_store(tmp_path / "s", "cancel", "refund").repo.place
    at = snapshot(Location.find(store), "main")
    git(store, "rm", "-q", "experiences/refund.md")
    git(store, "commit", "-q", "-m", "Forget refunds")
    runtime = Words()
    with serving(make_service(runtime, reader=reader_of(str(store)))) as url:
        executor = make({"url": url, "pinned": False}).executor()
        told = context(1).model_copy(update={"policy_snapshot_id": at.snapshot_id})
        assert run(executor, word_case(0), at, told)
    (request,) = runtime.requests
    assert [(p.name, p.text) for p in request.experiences.policies] == [(p.name, p.text) for p in at.policies]


def test_a_service_that_does_not_say_what_it_is():
    with json_server() as server:
        server.on("GET", "/health", {"status": "ok", "name": "words"})
        with pytest.raises(UsageError, match="its name and version"):
            make({"url": server.url}).executor()


def test_a_service_that_was_replaced_counts_no_more():
    runtime = Words()
    with serving(make_service(runtime)) as url:
        executor = make({"url": url}).executor()
        assert run(executor, word_case(0), POLICY, context(1))
        environment = make({"url": url})
        assert environment.code == "words 1"
    runtime.version = "2"
    with serving(make_service(runtime)) as url:
        executor._connect = make({"url": url}).connect
        with pytest.raises(RemoteError, match="another service now: '2', it was '1'"):
            run(executor, word_case(0), POLICY, context(1))


def test_nobody_is_there(monkeypatch):
    monkeypatch.setattr("trainer.remote.client._backoff", lambda _: 0.0)
    with pytest.raises(HttpError, match="cannot be reached") as caught:
        make({"url": "http://127.0.0.1:9"}).executor()
    assert caught.value.hint == "is the service running?"


def test_what_a_clone_names_is_not_believed(isolated_git, monkeypatch):
    far = make({"url": "https://desk.example"})
    with pytest.raises(
        UsageError, match=r"would send experiences and cases to https://desk\.example"
    ) as caught:
        far.connect()
    assert caught.value.hint.endswith("--add xp.trustedEnvironment https://desk.example")
    git(isolated_git, "config", "--global", "--add", "xp.trustedEnvironment", "https://desk.example")
    assert make({"url": "https://desk.example"}).connect().url == "https://desk.example"
    monkeypatch.setenv("AWS_SECRET", KEY)
    with pytest.raises(UsageError, match="and what the variable holds") as caught:
        make({"url": "https://desk.example", "key_variable": "AWS_SECRET"}).connect()
    assert caught.value.hint.endswith("'https://desk.example AWS_SECRET'")
    assert KEY not in str(caught.value)


def test_a_key_that_is_not_set(desk, monkeypatch):
    with pytest.raises(UsageError, match="DESK_KEY is not set"):
        make({"url": desk, "key_variable": "DESK_KEY"}).executor()
    monkeypatch.setenv("DESK_KEY", KEY)
    assert make({"url": desk, "key_variable": "DESK_KEY"})._key == KEY
