"""The agent through the real client, against a server that answers what the test says."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.llm_server import Fault, LlmServer, Reply, Seen
from tests.trainer.offline.world import call, say
from trainer.asking.open import open_asker
from trainer.asking.question import AskError
from trainer.environments.llm_agent import LLMAgents, Manner, prompts, seed_of
from trainer.environments.order_desk.catalogue import schemas
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from trainer.domain import Message

ASKED = [say("system", "It is noon."), say("user", "Please cancel order O1.")]
LOOK = Reply(None, [("get_order", {"order_id": "O1"})])


def replies(server: LlmServer, *talks: list[Message], manner: Manner | None = None) -> list[Message]:
    async def ask() -> list[Message]:
        settings = LlmSettings(model="scripted", base_url=server.url, retries=0, timeout=20.0)
        async with open_asker(settings) as asker:
            agents = LLMAgents(asker, manner or Manner("scripted", 0.5, 200))
            return [await agents.start("7 c1", training=False).reply(talk, schemas()) for talk in talks]

    return asyncio.run(ask())


def test_a_model_sees_the_conversation_and_the_tools(llm_server):
    llm_server.on("act", LOOK)
    talk = [*ASKED, call("get_order", {"order_id": "O1"}, {"order_id": "O1"})]
    (reply,) = replies(llm_server, talk)
    assert [(p.tool_id, p.tool_name, p.tool_input, p.tool_status) for p in reply.tools] == [
        ("call-2", "get_order", {"order_id": "O1"}, "pending")
    ]
    (seen,) = llm_server.requests
    assert [m["role"] for m in seen.messages] == ["system", "user", "assistant", "tool"]
    assert seen.system.endswith("It is noon.")
    assert {t["function"]["name"] for t in seen.body["tools"]} == {t.name for t in schemas()}
    assert (seen.body["temperature"], seen.body["max_tokens"]) == (0.5, 200)
    assert seen.body["seed"] == seed_of("7 c1")


def test_seeds_fit_into_what_any_endpoint_takes():
    seeds = {seed_of(str(n)) for n in range(50)}
    assert len(seeds) == 50
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_an_endpoint_without_tools_is_told_of_them_in_text_from_then_on(llm_server):
    llm_server.rejects = frozenset({"tools"})
    llm_server.on("act", json.dumps({"name": "get_order", "arguments": {"order_id": "O1"}}))
    manner = Manner("scripted", 0, 200)
    found = replies(llm_server, ASKED, ASKED, manner=manner)
    assert [[p.tool_name for p in m.tools] for m in found] == [["get_order"]] * 2
    assert ["tools" in seen.body for seen in llm_server.requests] == [True, False, False]
    assert '"cancel_order"' in llm_server.requests[1].system
    assert manner.way == "text"


def test_a_model_that_writes_its_calls_is_understood_where_tools_are_taken(llm_server):
    llm_server.on("act", 'Let me see.\n```json\n{"name": "get_order", "arguments": {"order_id": "O1"}}\n```')
    (reply,) = replies(llm_server, ASKED)
    assert (reply.text, reply.tools[0].tool_input) == ("Let me see.", {"order_id": "O1"})
    assert len(llm_server.requests) == 1


def test_what_is_refused_later_is_no_matter_of_tools(llm_server):
    said = json.dumps({"error": {"message": "this is longer than the context"}})
    llm_server.on("act", [LOOK, Fault("status", 400, body=said)])
    with pytest.raises(AskError, match="longer than the context"):
        replies(llm_server, ASKED, ASKED)
    assert len(llm_server.requests) == 2


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (Fault("status", 500), "http"),
        (Fault("status", 401), "http"),
        (Fault("status", 413), "http"),
        (Fault("status", 400, body='{"error": {"message": "maximum context length is 4096"}}'), "http"),
        (Fault("status", 429), "http"),
        (Fault("reset"), "connection"),
        (Fault("html"), "http"),
        (Fault("no_choices"), "http"),
        (Fault("length", answer=""), "length"),
    ],
)
def test_a_fault_of_the_endpoint_is_no_reply(llm_server, fault, name):
    llm_server.on("act", fault)
    with pytest.raises(AskError) as caught:
        replies(llm_server, ASKED)
    assert caught.value.fault == name
    assert len(llm_server.requests) == 1, "tools have nothing to do with it"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Fault("refusal"), "I cannot help with that."),
        (Fault("empty"), ""),
        (Fault("length", answer="I would say that it all begins with"), "I would say that "),
    ],
)
def test_what_a_model_does_is_its_doing(llm_server, answer, text):
    llm_server.on("act", answer)
    (reply,) = replies(llm_server, ASKED)
    assert reply.tools == ()
    assert reply.text == text.strip()


def test_a_cut_call_goes_back_as_the_text_that_it_is(llm_server):
    llm_server.on("act", Reply(None, [("get_order", 'half of {"an')], finish_reason="length"))
    (reply,) = replies(llm_server, ASKED)
    assert reply.tools[0].tool_input == json.dumps('half of {"an')


def test_its_prompts_name_their_stage():
    assert [p.system.split("\n")[0] for p in prompts()] == ["Stage: act"] * 2


def test_equal_conversations_are_equal_requests(llm_server):
    bodies = []

    def keep(seen: Seen) -> Reply:
        bodies.append(seen.body)
        return LOOK

    llm_server.on("act", keep)
    replies(llm_server, ASKED, ASKED)
    assert bodies[0] == bodies[1]
