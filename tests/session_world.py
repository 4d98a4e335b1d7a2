"""Sessions for tests: messages that agents write, a service in this process, and learners that are quick."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trainer.assembly
from tests.fickle import Fickle
from tests.trainer.doubles import NoteTaker
from trainer.components.streaming_trainer import StreamingPolicyTrainerConfig
from trainer.domain import Case, Rubric, RubricEvaluation
from trainer.remote.session_case import render_case_spec, render_outcome
from trainer.service.session_messages import WireMessage
from trainer.service.sessions import SessionService

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    import pytest

USER = "default"
CONFIG = StreamingPolicyTrainerConfig(retries=0, retry_seconds=0)


def quick(patch: pytest.MonkeyPatch, editor: type = Fickle) -> None:
    """Let the learner without a model write a line for each rollout, another one whenever it is asked."""
    patch.setattr(trainer.assembly, "OfflineExtractor", NoteTaker)
    patch.setattr(trainer.assembly, "OfflineEditor", editor)


def said(text: str = "please do it", role: str = "user", **more: object) -> WireMessage:
    return WireMessage.model_validate({"role": role, "content": text, **more})


def called(
    tool: str = "cancel_order", status: str = "completed", output: str = "", **more: object
) -> WireMessage:
    """A message of the agent that calls a tool."""
    part = {"type": "tool", "tool_id": "t1", "tool_name": tool, "tool_status": status, "tool_output": output}
    return WireMessage.model_validate({"role": "assistant", "parts": [{**part, **more}]})


def spec(name: str = "page-0") -> WireMessage:
    return said(render_case_spec(Case(name=name, rubric=Rubric(name=name))), "system")


def outcome(*, passed: bool = True) -> WireMessage:
    return said(render_outcome(RubricEvaluation(passed=passed, score=float(passed))))


def session(name: str = "page-0", text: str = "please do it", *, passed: bool = True) -> list[WireMessage]:
    """A whole session: its case, a turn of each, and how it came out."""
    return [spec(name), said(text), said("it is done", "assistant"), outcome(passed=passed)]


def run(store: Path, work: Callable[[SessionService], Awaitable[object]], **options: object) -> object:
    """Open the service of a store, do something with it, and close it."""

    async def main() -> object:
        async with opened(store, **options) as service:
            return await work(service)

    return asyncio.run(main())


@asynccontextmanager
async def opened(store: Path, **options: object) -> AsyncIterator[SessionService]:
    async with SessionService.open(store, **{"config": CONFIG, **options}) as service:
        yield service


async def committed(
    service: SessionService, name: str, messages: Sequence[WireMessage], user: str = USER
) -> dict:
    """Make a session, commit it, and return its task when it is done."""
    return await service.wait(user, (await begun(service, name, messages, user))["task_id"])


async def begun(
    service: SessionService, name: str, messages: Sequence[WireMessage], user: str = USER
) -> dict:
    """Make a session and commit it; return what that is answered."""
    await service.create_session(user, {"session_id": name})
    await service.add_messages(user, name, messages)
    return await service.commit(user, name)
