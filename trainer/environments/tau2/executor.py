"""Tau2RolloutExecutor: lets an agent work on tau2's cases, each simulation in a thread with a time limit."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from trainer.domain import READ, Rollout
from trainer.environments.tau2.job import Clock, Job
from trainer.environments.tau2.messages import conversation_of
from trainer.environments.tau2.reading import Reader
from trainer.environments.tau2.scoring import InfrastructureError, evaluation_of, unreplayable
from xpstore.errors import UsageError, XpError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.context import ExecutionContext
    from trainer.domain import Case
    from trainer.environments.tau2.job import Simulated
    from trainer.environments.tau2.settings import Tau2Settings
    from trainer.environments.tau2.tasks import TaskSet
    from xpstore.experience import ExperienceSet

DO_NOTHING = "do-nothing"
MODEL = "model"
MOST_TOLD = 500
"""Characters of an error: client libraries quote whole requests and answers."""
DONE = "Done."
"""All that an agent says which does nothing."""


class Simulator(Protocol):
    """Runs simulations; blocks."""

    def simulate(self, job: Job, settings: Tau2Settings) -> Simulated:
        """Return what came of a job. Raises InfrastructureError where it says nothing of the agent."""
        ...

    def replay(
        self, job: Job, settings: Tau2Settings, actions: Sequence[Mapping[str, JsonValue]], said: str
    ) -> Simulated:
        """Return what is said of a simulation of these calls; nobody but the judge is asked."""
        ...


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for beside case and policy."""

    agent: str
    seed: int
    max_steps: int
    clock: Clock


class Tau2RolloutExecutor:
    """RolloutExecutor of tau2: reward → RubricEvaluation, tool calls → ToolParts, failures apart."""

    def __init__(
        self,
        settings: Tau2Settings,
        tasks: Callable[[str], TaskSet],
        policy: Callable[[str], str],
        tau2: Simulator,
    ) -> None:
        self._settings = settings
        self._tasks = tasks
        self._policy = policy
        self._tau2 = tau2
        self._threads = ThreadPoolExecutor(settings.parallel, thread_name_prefix="tau2")

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        """Return one rollout per case, in order.

        `context.metadata["options"]` may have `agent` (`model`, or `do-nothing`: what an agent scores that
        does nothing) and `max_steps`, which can only lower the service's own. Raises InfrastructureError
        where a rollout says nothing of the agent, UsageError for a case or an option that there is not.
        """
        return [await self._rollout(case, policy_set, context) for case in cases]

    async def _rollout(self, case: Case, policy_set: ExperienceSet, context: ExecutionContext) -> Rollout:
        options = context.metadata.get("options")
        agent, max_steps = _options(options if isinstance(options, dict) else {}, self._settings)
        clock = Clock(self._settings.time_limit)
        work = asyncio.get_running_loop().run_in_executor(
            self._threads, self._run, case, policy_set, _Asked(agent, context.seed, max_steps, clock)
        )
        try:
            simulated, task = await work
        except XpError as error:
            raise type(error)(self._told(error.message), hint=error.hint) from error
        finally:
            clock.stop()  # where nobody waits any more, nothing more is asked
        return self._made(case, task, simulated, context, agent)

    def _run(
        self, case: Case, policy_set: ExperienceSet, asked: _Asked
    ) -> tuple[Simulated, Mapping[str, JsonValue]]:
        asked.clock.left(self._settings.time_limit)  # it may have waited for a thread in vain
        domain = str(case.input.get("domain"))
        task = self._tasks(domain).task_of(case)
        job = Job(
            domain=domain,
            task=task,
            policy=self._policy(domain),
            reader=Reader(policy_set, self._settings.experience_tokens),
            seed=asked.seed,
            max_steps=asked.max_steps,
            clock=asked.clock,
        )
        if asked.agent == DO_NOTHING:
            return self._tau2.replay(job, self._settings, (), DONE), task
        return self._tau2.simulate(job, self._settings), task

    def _made(
        self,
        case: Case,
        task: Mapping[str, JsonValue],
        simulated: Simulated,
        context: ExecutionContext,
        agent: str,
    ) -> Rollout:
        talk = conversation_of(simulated.messages)
        if simulated.reward is None:
            evaluation = unreplayable(case, task, self._told(simulated.problem))
        else:
            evaluation = evaluation_of(case, task, simulated.reason, simulated.reward)
        given = {key: value for key, value in context.metadata.items() if key != "options"}
        return Rollout(
            case=case,
            messages=talk.messages,
            policy_snapshot_id=context.policy_snapshot_id,
            evaluation=evaluation,
            metadata={
                **given,
                "source": "tau2_executor",
                "seed": context.seed,
                "training": context.training,
                "termination_reason": simulated.reason,
                "tools_used": list(talk.tools_used),
                "callers": dict(talk.callers),
                "iterations": talk.iterations,
                "memory": ", ".join(simulated.recalled),
                READ: list(simulated.recalled),
                "agent": agent if agent == DO_NOTHING else self._settings.agent.model,
                "usage": self._usage(simulated),
            },
        )

    def _usage(self, simulated: Simulated) -> dict[str, JsonValue]:
        s = self._settings
        return {
            who: simulated.use[who].as_json(endpoint.prompt_price, endpoint.completion_price)
            for who, endpoint in (("agent", s.agent), ("user", s.user), ("judge", s.judge))
            if who in simulated.use
        }

    def _told(self, text: str) -> str:
        """Return a text without the keys, and without the length, that a client library may quote."""
        s = self._settings
        for key in {s.agent.key, s.user.key, s.judge.key}:
            text = text.replace(key, "…") if len(key) >= 8 else text
        return text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]} …"


def _options(options: Mapping[str, JsonValue], settings: Tau2Settings) -> tuple[str, int]:
    """Return who acts, and how long; what the RFC's own runner sends beside it is passed over."""
    agent = options.get("agent", MODEL)
    if agent not in {MODEL, DO_NOTHING}:
        raise UsageError(f"no agent is called {agent!r}", hint=f"{MODEL} or {DO_NOTHING}")
    if agent == MODEL and not settings.agent.model:
        raise InfrastructureError("this service has no model for its agent", hint="set agent_model")
    steps = options.get("max_steps", settings.max_steps)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise UsageError(f"max_steps is {steps!r}", hint="a whole number, at least 1")
    return str(agent), min(steps, settings.max_steps)
