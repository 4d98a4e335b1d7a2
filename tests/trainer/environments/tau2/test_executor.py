from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from tests.tau2_tasks import SECRETS, task_set
from trainer.context import ExecutionContext
from trainer.environments.tau2.executor import Tau2RolloutExecutor
from trainer.environments.tau2.job import Job, Simulated, Use
from trainer.environments.tau2.scoring import InfrastructureError
from trainer.environments.tau2.settings import Tau2Settings, settings_of
from trainer.uses import read_in
from xpstore.errors import UsageError
from xpstore.experience import Experience, ExperienceSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEY = "sk-a-key-of-somebody"
PAGE = Experience.read("bags", "---\nname: bags\n---\n\n## Approach\n\n- Ask first.\n")
POLICY = ExperienceSet(root_uri="experiences", policies=(PAGE,), snapshot_id="c1")
TASKS = task_set()
SAID = [{"role": "assistant", "content": "Hi!"}, {"role": "user", "content": "Bye."}]


class Fake:
    """Stands for tau2."""

    def __init__(self, outcome: Simulated | Exception) -> None:
        self.outcome = outcome
        self.jobs: list[Job] = []
        self.replays: list[tuple[str, Sequence[Mapping[str, object]], str]] = []

    def simulate(self, job: Job, settings: Tau2Settings) -> Simulated:
        self.jobs.append(job)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def replay(self, job: Job, settings: Tau2Settings, actions: Sequence[object], said: str) -> Simulated:
        self.replays.append((job.domain, actions, said))
        return Simulated(SAID, "user_stop", {"reward": 1.0, "reward_breakdown": {}})


def executor(fake: Fake, **options: object) -> Tau2RolloutExecutor:
    settings = settings_of({"agent_model": "m", **options}, {"OPENAI_API_KEY": KEY})
    return Tau2RolloutExecutor(settings, lambda _: TASKS, lambda _: "", fake)


def run(fake: Fake, options: dict[str, object] | None = None, **more: object):
    case = TASKS.cases("test")[0]
    context = ExecutionContext(
        policy_snapshot_id="c1", seed=9, metadata={"trial": 3, "options": options or {}}
    )
    [rollout] = asyncio.run(executor(fake, **more).execute([case], POLICY, context))
    return rollout


def test_a_simulation_becomes_a_rollout():
    use = {"agent": Use(2, 10, 5, 0.0), "user": Use(1, 3, 1, 0.0)}
    fake = Fake(Simulated(SAID, "user_stop", {"reward": 1.0}, recalled=("bags",), use=use))
    rollout = run(fake, max_steps=50, agent_prompt_price=1e6)
    assert rollout.policy_snapshot_id == "c1"
    assert rollout.case == TASKS.cases("test")[0]
    assert rollout.evaluation.passed
    assert rollout.metadata["trial"] == 3
    assert "options" not in rollout.metadata
    assert rollout.metadata["memory"] == "bags"
    assert read_in(rollout) == {"bags"}
    assert rollout.metadata["usage"]["agent"]["cost"] == 10.0
    assert not [secret for secret in SECRETS if secret in rollout.model_dump_json()]
    [job] = fake.jobs
    assert (job.seed, job.max_steps, job.domain) == (9, 50, "airline")
    assert job.reader.recall("x").names == ("bags",)


def test_the_floor_asks_nobody_and_needs_no_model():
    fake = Fake(ValueError())
    rollout = run(fake, {"agent": "do-nothing"}, agent_model="")
    assert fake.replays == [("airline", (), "Done.")]
    assert rollout.metadata["agent"] == "do-nothing"
    assert rollout.evaluation.passed


def test_options_can_only_make_it_shorter():
    fake = Fake(Simulated(SAID, "user_stop", {"reward": 1.0}))
    for steps in (5, 10_000):
        run(fake, {"max_steps": steps, "config_path": "/etc/passwd", "agent_base_url": "http://evil"})
    assert [job.max_steps for job in fake.jobs] == [5, 200]


@pytest.mark.parametrize(
    "options", [{"agent": "gold"}, {"max_steps": 0}, {"max_steps": True}, {"max_steps": "9"}]
)
def test_options_that_there_are_not(options: dict[str, object]):
    with pytest.raises(UsageError):
        run(Fake(Simulated(SAID, "user_stop", {"reward": 1.0})), options)


def test_what_cannot_be_checked_is_a_failure_and_what_broke_is_none():
    failed = run(Fake(Simulated(SAID, "user_stop", None, "ValueError: gone")))
    assert (failed.evaluation.passed, failed.evaluation.score) == (False, 0.0)
    with pytest.raises(InfrastructureError, match=r"wrong key …$"):
        run(Fake(InfrastructureError(f"wrong key {KEY}")))


def test_without_a_model_nothing_is_simulated():
    with pytest.raises(InfrastructureError, match="no model"):
        run(Fake(Simulated(SAID, "user_stop", {"reward": 1.0})), agent_model="")


def test_who_is_cancelled_asks_nothing_more():
    begun, go_on = threading.Event(), threading.Event()
    seen: list[str] = []

    class Slow(Fake):
        def simulate(self, job: Job, settings: Tau2Settings) -> Simulated:
            begun.set()
            go_on.wait(10)
            try:
                job.clock.left(1.0)
            except InfrastructureError as error:
                seen.append(error.message)
                raise
            return Simulated(SAID, "user_stop", {"reward": 1.0})

    async def cancelled() -> None:
        context = ExecutionContext(policy_snapshot_id="c1")
        runs = executor(Slow(ValueError()))
        task = asyncio.create_task(runs.execute(TASKS.cases("train"), POLICY, context))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        await asyncio.to_thread(runs._threads.shutdown)

    asyncio.run(cancelled())
    assert seen == ["the simulation was cancelled"]


def test_an_error_is_not_as_long_as_what_a_library_quotes():
    quoted = InfrastructureError(f"the agent's model: {KEY} said " + '{"user_id": ' * 50_000)
    with pytest.raises(InfrastructureError, match="the agent's model: … said") as caught:
        run(Fake(quoted))
    assert len(caught.value.message) < 600
    rollout = run(Fake(Simulated(SAID, "user_stop", None, "x" * 50_000)))
    assert rollout.evaluation is not None
    assert len(rollout.evaluation.criterion_results[0].feedback[0]) < 600
