"""Runs one simulation in tau2: its environment, its user simulator, its evaluator; the agent reads pages.

Everything goes through constructors that both of tau2's APIs have. Call `guard.check_here` first.
"""

from __future__ import annotations

import json
import threading
from json import JSONDecodeError
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError
from tau2.agent.llm_agent import LLMAgent
from tau2.data_model.message import AssistantMessage, SystemMessage, ToolCall, UserMessage
from tau2.data_model.simulation import SimulationRun, TerminationReason
from tau2.data_model.tasks import Task
from tau2.evaluator import evaluator_nl_assertions
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
from tau2.orchestrator.orchestrator import Orchestrator
from tau2.registry import registry
from tau2.user.user_simulator import UserSimulator

from trainer.environments.tau2.job import Simulated, Use
from trainer.environments.tau2.scoring import SCORED, InfrastructureError, check_ending, check_judged
from trainer.environments.tau2.tasks import basis_of
from xpstore.errors import XpError
from xpstore.hashing import mend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.environments.tau2.job import Clock, Job
    from trainer.environments.tau2.reading import Reader, Recalled
    from trainer.environments.tau2.settings import Endpoint, Tau2Settings

PROVIDER = "openai/"
"""How the client library is told to speak OpenAI's protocol, whatever the model is called."""
GREETING = "Hi! How can I help you today?"
_judging = threading.local()
"""Who judges in this thread, and what it was asked for: tau2 has room for one judge per process."""
_ask = evaluator_nl_assertions.generate
_judge = evaluator_nl_assertions.NLAssertionsEvaluator.calculate_reward


class _BadCallError(Exception):
    """The agent's model wrote a call with arguments that are no JSON object."""


class _Agent(LLMAgent):
    """tau2's agent, which also reads what was learned before."""

    def __init__(self, job: Job, environment: object, settings: Tau2Settings) -> None:
        super().__init__(
            tools=environment.get_tools(),  # type: ignore[attr-defined]  # of a library without types
            domain_policy=job.policy or environment.get_policy(),  # type: ignore[attr-defined]
            **_llm(settings.agent, settings),
        )
        self.recalled: Recalled | None = None
        self._reader: Reader = job.reader
        self._clock: Clock = job.clock
        self._most = settings.call_timeout

    def generate_next_message(self, message: object, state: object) -> object:
        """Recall once the user has said what it is about, then answer as ever."""
        if self.recalled is None:
            self.recalled = self._reader.recall(str(getattr(message, "content", "") or ""))
            if self.recalled.text:
                prompt = f"{self.system_prompt}\n\n{self.recalled.text}"
                state.system_messages = [SystemMessage(role="system", content=prompt)]  # type: ignore[attr-defined]
        self.llm_args["timeout"] = self._clock.left(self._most)
        return _blamed("agent", lambda: self._next(message, state))

    def _next(self, message: object, state: object) -> object:
        try:
            return _mended(super().generate_next_message(message, state))
        except (JSONDecodeError, ValidationError) as error:
            raise _BadCallError from error


class _User(UserSimulator):
    """tau2's simulated user, in the time that there is."""

    clock: Clock
    most: float

    def generate_next_message(self, message: object, state: object) -> object:
        """Answer as ever."""
        self.llm_args["timeout"] = self.clock.left(self.most)
        return _blamed("user", lambda: _mended(super(_User, self).generate_next_message(message, state)))


def simulate(job: Job, settings: Tau2Settings) -> Simulated:
    """Run a simulation and let tau2 check its end. Raises InfrastructureError where it says nothing.

    A call that cannot be read is the agent's fault, and ends the simulation: tau2 would ask for another one.
    """
    task = Task.model_validate(job.task)
    environment = registry.get_env_constructor(job.domain)()
    agent = _Agent(job, environment, settings)
    tools = environment.get_user_tools() if getattr(environment, "user_tools", None) is not None else None
    user = _User(tools=tools, instructions=str(task.user_scenario), **_llm(settings.user, settings))
    user.clock, user.most = job.clock, settings.call_timeout
    talk = Orchestrator(
        domain=job.domain,
        agent=agent,
        user=user,
        environment=environment,
        task=task,
        max_steps=job.max_steps,
        max_errors=settings.max_errors,
        seed=job.seed,
    )
    judge = Use()
    try:
        run = talk.run()
    except _BadCallError:
        return _made(talk.get_trajectory(), "agent_error", ({"reward": 0.0}, ""), agent.recalled, judge)
    except XpError:
        raise
    except Exception as error:  # tau2 raises whatever its models make it raise
        raise InfrastructureError(f"the simulation broke: {type(error).__name__}: {error}") from error
    check_ending(_reason(run))
    graded = _graded(run, task, job, settings, judge)
    return _made(run.messages, _reason(run), graded, agent.recalled, judge)


def _made(
    said: Sequence[object],
    reason: str,
    graded: tuple[Mapping[str, JsonValue] | None, str],
    recalled: Recalled | None,
    judge: Use,
) -> Simulated:
    messages = [message.model_dump(mode="json") for message in said]  # type: ignore[attr-defined]
    reward, problem = graded
    return Simulated(
        messages=messages,
        reason=reason,
        reward=reward,
        problem=problem,
        recalled=recalled.names if recalled else (),
        use={**_use(messages), "judge": judge},
    )


def replay(
    job: Job, settings: Tau2Settings, actions: Sequence[Mapping[str, JsonValue]], said: str
) -> Simulated:
    """Return what tau2 says of these calls, then `said`, then the user hangs up; only the judge is asked.

    No action and "Done." is what an agent gets that does nothing. Raises InfrastructureError: the judge's.
    """
    made = Task.model_validate(job.task)
    environment = registry.get_env_constructor(job.domain)()
    start = made.initial_state
    history = list(start.message_history or []) if start else []
    environment.set_state(
        start.initialization_data if start else None,
        start.initialization_actions if start else None,
        history,
    )
    messages = [*history, AssistantMessage(role="assistant", content=GREETING, cost=0.0)]
    messages.append(UserMessage(role="user", content="Hello.", cost=0.0))
    for number, action in enumerate(actions):
        who = str(action.get("requestor", "assistant"))
        call = ToolCall(
            id=f"call_{number}", name=action["name"], arguments=action["arguments"], requestor=who
        )
        kind = AssistantMessage if who == "assistant" else UserMessage
        messages.append(kind(role=who, content=None, tool_calls=[call], cost=0.0))
        messages.append(environment.get_response(call))
    messages.append(AssistantMessage(role="assistant", content=said, cost=0.0))
    messages.append(UserMessage(role="user", content="###STOP###", cost=0.0))
    run = SimulationRun(
        id="replay",
        task_id=made.id,
        start_time="2026-01-01T00:00:00",
        end_time="2026-01-01T00:00:01",
        duration=1.0,
        termination_reason=TerminationReason.USER_STOP,
        messages=messages,
    )
    judge = Use()
    return _made(messages, _reason(run), _graded(run, made, job, settings, judge), None, judge)


def _llm(endpoint: Endpoint, settings: Tau2Settings) -> dict[str, object]:
    """Return what agent and user take: the model, and where and how it is asked."""
    asked: dict[str, object] = {
        "api_key": endpoint.key,
        "temperature": endpoint.temperature,
        "num_retries": settings.retries,
        "timeout": settings.call_timeout,
    }
    if endpoint.base_url:
        asked["api_base"] = endpoint.base_url
    return {"llm": f"{PROVIDER}{endpoint.model}", "llm_args": asked}


def _mended(turn: tuple[object, object]) -> tuple[object, object]:
    """Return a message, and the state that has it, with text that can be sent on: no halves of characters."""
    message = turn[0]
    if message.content:  # type: ignore[attr-defined]  # of a library without types
        message.content = mend(message.content)  # type: ignore[attr-defined]
    for call in message.tool_calls or ():  # type: ignore[attr-defined]
        call.arguments = json.loads(mend(json.dumps(call.arguments, ensure_ascii=False)))
    return turn


def _blamed(who: str, step: object) -> object:
    """Return what a step returns; what it raises is infrastructure, with the name of who was asked."""
    try:
        return step()  # type: ignore[operator]
    except (XpError, _BadCallError):
        raise
    except Exception as error:  # anything that a client library and a model can do
        raise InfrastructureError(f"the {who}'s model: {type(error).__name__}: {error}") from error


def _kind(task: Mapping[str, JsonValue]) -> EvaluationType:
    judged = "NL_ASSERTION" in basis_of(task)
    return EvaluationType.ALL_WITH_NL_ASSERTIONS if judged else EvaluationType.ALL


def _graded(
    run: SimulationRun, task: Task, job: Job, settings: Tau2Settings, judge: Use
) -> tuple[Mapping[str, JsonValue] | None, str]:
    """Return reward information, or why there is none; a judge that fails is asked again, not the agent."""
    last: InfrastructureError | None = None
    for _ in range(settings.retries + 1):
        _judging.ask = (settings.judge, settings, job.clock, judge)
        try:
            found = _checked(run, task, job.domain, _kind(job.task))
            if found[0] is not None and str(found[0].get("reward_basis")) and _reason(run) in SCORED:
                check_judged(job.task, found[0])
        except InfrastructureError as error:
            last = error
        else:
            return found
        finally:
            _judging.ask = None
    raise last or InfrastructureError("nothing was judged")


def _reason(run: SimulationRun) -> str:
    return str(getattr(run.termination_reason, "value", run.termination_reason))


def _checked(
    run: SimulationRun, task: Task, domain: str, kind: EvaluationType
) -> tuple[Mapping[str, JsonValue] | None, str]:
    """Return tau2's reward information, or why it cannot check. Raises InfrastructureError: the judge's."""
    try:
        info = evaluate_simulation(
            simulation=run, task=task, evaluation_type=kind, solo_mode=False, domain=domain
        )
    except InfrastructureError:
        raise
    except Exception as error:  # noqa: BLE001  # assertions on a world in which what they look for is not there
        return None, f"{type(error).__name__}: {error}"
    return cast("Mapping[str, JsonValue]", info.model_dump(mode="json")), ""


def _judged(*arguments: object, **named: object) -> object:
    """Judge as tau2 does; whatever goes wrong is the judge's."""
    try:
        return _judge(*arguments, **named)
    except XpError:
        raise
    except Exception as error:  # no JSON, JSON of another form, no answer
        raise InfrastructureError(f"the judge: {type(error).__name__}: {error}") from error


def _asked(**named: object) -> object:
    """Ask the judge of this thread instead of the one that tau2 names."""
    endpoint, settings, clock, use = _judging.ask
    if not endpoint.model:
        raise InfrastructureError("this service has no model for its judge", hint="set judge_model")
    own = _llm(endpoint, settings)
    arguments = cast("dict[str, object]", own["llm_args"]) | {"timeout": clock.left(settings.call_timeout)}
    rest = {key: value for key, value in named.items() if key not in arguments and key != "model"}
    answer = _ask(model=own["llm"], **rest, **arguments)
    use.add(answer.usage, answer.cost)
    return answer


def _use(messages: Sequence[Mapping[str, JsonValue]]) -> dict[str, Use]:
    """Return what agent and user were asked for; tau2's own greeting was asked of nobody."""
    found = {"agent": Use(), "user": Use()}
    for message in messages:
        usage = message.get("usage")
        if message.get("role") in {"assistant", "user"} and isinstance(usage, dict):
            cost = message.get("cost")
            who = found["agent" if message["role"] == "assistant" else "user"]
            who.add(usage, cost if isinstance(cost, float) else None)
    return found


evaluator_nl_assertions.generate = _asked
evaluator_nl_assertions.NLAssertionsEvaluator.calculate_reward = _judged
