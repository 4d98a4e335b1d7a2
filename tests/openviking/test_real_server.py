"""Our trainer and a real server of OpenViking."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.llm_world import recordings, write
from tests.openviking_world import EXPERIENCE
from trainer.components.session_commit import SessionCommitPolicyTrainer
from trainer.context import PipelineContext
from trainer.importers import read_rollouts
from trainer.remote.client import JsonClient
from trainer.remote.session_client import HttpSessionClient
from trainer.remote.session_upload import Pace
from xpstore.experience import ExperienceSet

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.openviking_world import BothModels
    from trainer.domain import Rollout, RolloutTrainingResult

USER = "viking://user/default/memories"


def train(url: str, rollouts: list[Rollout]) -> RolloutTrainingResult:
    async def work() -> RolloutTrainingResult:
        async with HttpSessionClient.at(url) as client:
            trainer = SessionCommitPolicyTrainer(client, pace=Pace(timeout=120.0))
            return await trainer.train_rollouts(rollouts, ExperienceSet(root_uri="none"), PipelineContext())

    return asyncio.run(work())


def read(url: str, uri: str) -> str:
    async def work() -> str:
        async with JsonClient(url) as http:
            answer = await http.get("/api/v1/content/read", {"uri": uri})
            assert isinstance(answer, dict)
            return str(answer["result"])

    return asyncio.run(work())


def test_rollouts_become_experiences_of_the_server(
    openviking: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rollouts = read_rollouts([write(tmp_path / "r.jsonl", recordings(4))]).rollouts
    result = train(openviking, list(rollouts))
    assert not result.failures
    sessions = result.metadata["sessions"]
    assert isinstance(sessions, list)
    assert [s["status"] for s in sessions] == ["completed"] * 4  # type: ignore[index,call-overload]
    page = read(openviking, f"{USER}/experiences/{EXPERIENCE}.md")
    assert "Look at the order first." in page
    case = read(openviking, f"{USER}/cases/{rollouts[0].case.name}.md")
    assert rollouts[0].case.name in case
    diff = read(openviking, str(sessions[0]["memory_diff_uri"]))  # type: ignore[index,call-overload]
    assert "experiences" in diff
    with capsys.disabled():
        print("\n", sessions[0], page, diff, sep="\n")  # noqa: T201  # what it looks like, for who runs it
    assert train(openviking, list(rollouts)).already == tuple(r.id for r in rollouts)


def test_what_a_model_spoils_is_a_failure_and_the_next_run_tries_anew(
    openviking: str, model: BothModels, tmp_path: Path
) -> None:
    lines = list(recordings(6))[4:]
    rollouts = list(read_rollouts([write(tmp_path / "r.jsonl", lines)]).rollouts)
    good = model._handlers["openviking: trajectories"]
    model.on("openviking: trajectories", "I would rather talk about the weather.")
    result = train(openviking, rollouts[:1])
    model.on("openviking: trajectories", good)
    (failure,) = result.failures
    assert failure.error.startswith("the task has failed: ")
    again = train(openviking, rollouts[:1])
    assert not again.failures
    assert not again.already
