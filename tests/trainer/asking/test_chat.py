from __future__ import annotations

from trainer.asking.chat import ChatError, ChatRequest, Message, Tool

ASKED = ChatRequest(
    stage="act", about="a turn", model="m", messages=(Message(role="user", content="x"),), max_tokens=9
)


def test_a_request_is_what_is_asked_and_not_how():
    how = {
        "stage": "answer",
        "about": "other",
        "omit": frozenset({"seed"}),
        "response_format": {"type": "text"},
    }
    assert ASKED.model_copy(update=how).digest == ASKED.digest
    asked = [
        {"model": "other"},
        {"max_tokens": 10},
        {"temperature": 0.5},
        {"seed": 1},
        {"messages": (Message(role="user", content="y"),)},
        {"messages": (Message(role="system", content="x"),)},
        {"tools": (Tool(name="t", description="", parameters={}),)},
    ]
    assert len({ASKED.digest, *(ASKED.model_copy(update=a).digest for a in asked)}) == len(asked) + 1


def test_half_a_character_has_a_digest_too():
    assert len(ASKED.model_copy(update={"messages": (Message(role="user", content="\ud800"),)}).digest) == 64


def test_what_an_endpoint_said_is_not_for_people():
    error = ChatError("http", "it failed", hint="try", status=500, said="details")
    assert (str(error), error.status, error.said) == ("it failed", 500, "details")
    assert "details" not in str(error.as_json())
