"""Environments over HTTP: a small one, a service on loopback, and answers as a service gives them."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from trainer.domain import (
    Case,
    CriterionResult,
    Message,
    Rollout,
    Rubric,
    RubricCriterion,
    RubricEvaluation,
    TextPart,
    ToolPart,
)
from trainer.remote.protocol import EXECUTIONS, QUERY, UNFINISHED
from trainer.web.limits import WebLimits
from trainer.web.run import config_of
from xpstore.errors import UsageError
from xpstore.experience import Experience, ExperienceSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fastapi import FastAPI
    from httpx import Response
    from pydantic import JsonValue

    from tests.asgi import Talking
    from trainer.env_kit.runtime import CaseQuery, RolloutRequest

SNAPSHOT = "5" * 40
PAGE = "---\ndescription: When asked\n---\n\n- Say please.\n"
POLICY = ExperienceSet(
    root_uri="experiences", policies=(Experience(name="manners", text=PAGE),), snapshot_id=SNAPSHOT
)
GOLD = "the-gold-answer"
RUBRIC = Rubric(name="said", criteria=(RubricCriterion(name="said", description="It says the word."),))


def word_case(number: int, split: str = "train") -> Case:
    return Case(
        name=f"{split}-{number}",
        task_signature="words",
        input={"user_query": f"say word {number}", "ground_truth": GOLD},
        rubric=RUBRIC,
        metadata={"split": split},
    )


class Words:
    """An EnvironmentRuntime: `make` is what a rollout comes to, and with `hold` it waits before that."""

    name = "words"
    version = "1"

    def __init__(self, count: int = 5) -> None:
        self.count = count
        self.requests: list[RolloutRequest] = []
        self.hold: asyncio.Event | None = None
        self.begun = asyncio.Event()
        self.cancelled = 0
        self.at_once = self.most_at_once = 0
        self.make: Callable[[RolloutRequest], object] = said

    def cases(self, query: CaseQuery) -> Sequence[Case]:
        if query.split not in {"", "train", "test"}:
            raise UsageError(f"there is no split {query.split!r}")
        return [word_case(n, query.split or "train") for n in range(self.count)]

    async def run(self, request: RolloutRequest) -> Rollout:
        self.requests.append(request)
        self.begun.set()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.hold is not None:
                await self.hold.wait()
            return self.make(request)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.at_once -= 1


def said(request: RolloutRequest) -> Rollout:
    """Return the rollout of an agent that does as it is told."""
    tool = ToolPart(tool_id="t0", tool_name="say", tool_input={"seed": request.seed}, tool_output="ok")
    return Rollout(
        case=request.case,
        messages=(
            Message(role="user", parts=(TextPart(text=str(request.case.input["user_query"])),)),
            Message(role="assistant", parts=(tool, TextPart(text="word"))),
        ),
        policy_snapshot_id=request.snapshot_id,
        evaluation=RubricEvaluation(
            passed=True,
            score=1.0,
            criterion_results=(CriterionResult(criterion_name="said", passed=True, score=1.0),),
        ),
        metadata={**request.metadata, "seed": request.seed},
    )


@contextmanager
def serving(app: FastAPI, limits: WebLimits | None = None) -> Iterator[str]:
    """Serve an application on loopback, in a thread; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = config_of(app, limits or WebLimits())
        config.lifespan = "on"
        server = _Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert server.ready.wait(30)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def execution(status: str = "running", case: str = "train-0", **more: JsonValue) -> dict[str, JsonValue]:
    """Return the state of an execution, as a service sends it."""
    state = {"execution_id": "rollout_exec_1", "status": status, "case_name": case, "error": None}
    return {**state, "created_at": 1.0, "updated_at": 2.0, **more}


def completed(
    case: str = "train-0", snapshot: str = SNAPSHOT, name: str = "rollout_exec_1", **more: JsonValue
) -> dict[str, JsonValue]:
    """Return a completed execution with its rollout."""
    rollout = {
        "case": {"name": case, "rubric": {"name": "said"}},
        "messages": [{"role": "assistant", "parts": [{"type": "text", "text": "word"}]}],
        "policy_snapshot_id": snapshot,
        "evaluation": {"passed": True, "score": 1.0},
        **more,
    }
    return execution("completed", case, rollout=rollout, execution_id=name)


def post(talking: Talking, path: str, body: object, **headers: str) -> Response:
    return talking.request("POST", path, json=body, headers=headers)


def submission(talking: Talking, **more: object) -> dict[str, object]:
    """Return the body of a submission of the service's first case."""
    case = post(talking, QUERY, {"split": "train"}).json()["cases"][0]
    context = {"policy_snapshot_id": SNAPSHOT, "metadata": {"epoch": 0, "training": True}}
    policies = {"root_uri": "x", "policies": [], "metadata": {"pinned": True}}
    return {"case": case, "policy_set": policies, "execution_context": context, "options": {}, **more}


def ended(talking: Talking, execution_id: str) -> dict[str, object]:
    """Poll an execution until it has ended."""

    async def work(client):
        while True:
            state = (await client.get(f"{EXECUTIONS}/{execution_id}")).json()
            if state["status"] not in UNFINISHED:
                return state

    return talking.do(work)
