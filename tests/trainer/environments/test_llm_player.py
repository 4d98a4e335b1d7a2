"""The order desk with a model behind its agent, through the real client."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.llm_server import Fault, LlmServer, Reply, Seen
from tests.trainer.contract import check_environment
from trainer.asking.question import AskError
from trainer.asking.tape import Tape
from trainer.context import ExecutionContext
from trainer.environment import world_of
from trainer.environments.order_desk.cases import suites
from trainer.environments.order_desk.desk import OrderDesk, make
from xpstore.errors import UsageError
from xpstore.experience import Experience, ExperienceSet
from xpstore.settings import EnvironmentSettings, LlmSettings

if TYPE_CHECKING:
    from pathlib import Path

    from trainer.domain import Rollout

CASES = suites(7, train=2, gate=0, test=0)["train"]
PAGE = "---\nname: orders\nstatus: production\n---\n\n## Approach\n\n- Read an order before you change it.\n"
PAGES = ExperienceSet(root_uri="experiences", policies=(Experience(name="orders", text=PAGE),))
CONTEXT = ExecutionContext(policy_snapshot_id="abc", seed=3)


def desk(server: LlmServer, tape: Tape | None = None, **options: object) -> OrderDesk:
    llm = LlmSettings(model="scripted", base_url=server.url, retries=0, timeout=20.0, parallel=4)
    return make({"agent": "llm", **options}).with_model(llm, tape)


def clerk(seen: Seen) -> object:
    """Look, do what was asked for in the first way there is, and say so."""
    order = re.search(r"\bO\d+\b", seen.content)
    assert order is not None
    done = [c["function"]["name"] for m in seen.messages for c in m.get("tool_calls") or ()]
    if "get_order" not in done:
        return Reply(None, [("get_order", {"order_id": order[0]})])
    if "cancel_order" not in done:
        arguments = {"order_id": order[0], "settlement": "store_credit"}
        return Reply("I do it.", [("cancel_order", arguments), ("no_such_tool", {})])
    return "That is done."


def play(environment: OrderDesk, pages: ExperienceSet = PAGES) -> list[Rollout]:
    return asyncio.run(environment.executor().execute(CASES, pages, CONTEXT))


def test_it_is_an_environment_like_any_other(llm_server):
    llm_server.on("act", clerk)
    check_environment(desk(llm_server), CASES, PAGES)


def test_a_model_plays_the_desk_with_its_tools(llm_server):
    llm_server.on("act", clerk)
    for rollout in play(desk(llm_server)):
        assert [p.tool_name for p in rollout.tools] == ["get_order", "cancel_order", "no_such_tool"]
        assert [p.tool_status for p in rollout.tools] == ["completed", "completed", "error"]
        assert rollout.messages[-1].text == "That is done."
        assert rollout.evaluation is not None
        assert (rollout.metadata["agent"], rollout.metadata["model"]) == ("llm/1", "scripted")
    assert "Read an order before you change it." in llm_server.requests[0].system
    told = [json.loads(m["content"]) for m in llm_server.of("act")[1].messages if m["role"] == "tool"]
    assert told[0]["order_id"]
    assert "wish" not in json.dumps([seen.body for seen in llm_server.requests])


def test_experiences_are_read_within_their_budget(llm_server):
    llm_server.on("act", "No.")
    play(desk(llm_server, experience_tokens=0))
    assert "Read an order" not in llm_server.requests[0].system


def test_malformed_arguments_go_back_to_the_model(llm_server):
    def confused(seen: Seen) -> object:
        return "I give up." if seen.messages[-1]["role"] == "tool" else Reply(None, [("get_order", "O1")])

    llm_server.on("act", confused)
    rollout = play(desk(llm_server))[0]
    assert rollout.tools[0].tool_status == "error"
    last = llm_server.of("act")[1].messages[-1]
    assert last["content"] == "Error: arguments must be an object of texts"


def test_turns_are_bounded(llm_server):
    llm_server.on("act", Reply(None, [("list_orders", {"customer_id": "C0"})]))
    rollout = play(desk(llm_server, turns=3))[0]
    assert [m.role for m in rollout.messages].count("assistant") == 3
    assert rollout.evaluation is not None


def test_an_endpoint_that_fails_gives_no_reward(llm_server):
    llm_server.on("act", [Reply(None, [("list_orders", {"customer_id": "C0"})]), Fault("status", 503)])
    with pytest.raises(AskError, match="503"):
        play(desk(llm_server))


def test_one_budget_bounds_all_trials(llm_server):
    llm_server.on("act", "No.")
    llm = LlmSettings(model="scripted", base_url=llm_server.url, max_tokens_per_run=8_000)
    executor = make({"agent": "llm", "max_tokens": 64}).with_model(llm).executor()
    asyncio.run(executor.execute(CASES[:1], PAGES, CONTEXT))
    with pytest.raises(AskError, match="budget"):
        asyncio.run(executor.execute(CASES * 10, PAGES, CONTEXT))


def test_what_the_endpoint_cannot_read_is_found_out_once(llm_server):
    llm_server.rejects = frozenset({"seed"})
    llm_server.on("act", "No.")
    executor = desk(llm_server).executor()
    for case in CASES:
        asyncio.run(executor.execute([case], PAGES, CONTEXT))
    assert ["seed" in seen.body for seen in llm_server.requests] == [True, False, False]


def test_a_recording_replays_without_a_server(llm_server, tmp_path: Path):
    llm_server.on("act", clerk)
    first = play(desk(llm_server, Tape(tmp_path / "tape")))
    asked = len(llm_server.requests)
    again = play(desk(llm_server, Tape(tmp_path / "tape", replays=True)))
    assert [r.id for r in again] == [r.id for r in first]
    assert len(llm_server.requests) == asked


def test_a_recording_of_an_endpoint_without_tools_replays_too(llm_server, tmp_path: Path):
    llm_server.rejects = frozenset({"tools"})
    llm_server.on("act", "No.")
    first = play(desk(llm_server, Tape(tmp_path / "tape")))
    assert [r.id for r in play(desk(llm_server, Tape(tmp_path / "tape", replays=True)))] == [
        r.id for r in first
    ]


def test_what_decides_a_score_is_in_the_key():
    plain, llm = make({}), make({"agent": "llm", "model": "m"})
    assert (llm.agent, llm.model) == ("llm/1", "m")
    assert llm.code != plain.code
    others = [{"temperature": 0}, {"max_tokens": 9}, {"turns": 3}, {"experience_tokens": 9}, {"seed": 8}]
    versions = {make({"agent": "llm", **o}).version for o in ({}, *others)}
    assert len(versions) == 1 + len(others)
    assert "act/1" in llm.version
    assert "llm" not in plain.version


def test_the_model_is_the_options_or_else_the_stores():
    store = LlmSettings(model="of the store", base_url="http://127.0.0.1:1/v1", key_variable="STORE_KEY")
    own = {"agent": "llm", "model": "own", "base_url": "http://127.0.0.1:2/v1", "key_variable": "OWN_KEY"}
    for options, expected in [
        ({"agent": "llm"}, store),
        (own, LlmSettings(**{k: own[k] for k in own if k != "agent"})),
    ]:
        world = world_of(EnvironmentSettings("order-desk", options), store)
        assert world.environment.model == expected.model
        settings = world.environment.player.settings
        assert (settings.base_url, settings.key_variable) == (expected.base_url, expected.key_variable)


def test_a_model_that_nobody_names_is_asked_for():
    with pytest.raises(UsageError, match="nobody says which model") as caught:
        world_of(EnvironmentSettings("order-desk", {"agent": "llm"}))
    assert "[llm]" in caught.value.hint
    assert world_of(EnvironmentSettings("order-desk", {})).environment.model == ""


@pytest.mark.parametrize(
    "options",
    [
        {"agent": "human"},
        {"agent": "llm", "slip_rate": 0.1},
        {"agent": "llm", "temperature": 3},
        {"agent": "llm", "max_tokens": 0},
        {"agent": "llm", "model": 3},
        {"model": "m"},
        {"turns": 0},
        {"experience_tokens": -1},
    ],
)
def test_options_of_the_other_agent_and_wrong_ones_are_refused(options):
    with pytest.raises((TypeError, ValueError), match=r"agent|slip_rate|temperature|tokens|model|turns"):
        make(options)
