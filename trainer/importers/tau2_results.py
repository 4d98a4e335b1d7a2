"""Result files of tau2-bench: `{info, tasks, simulations}`, or one simulation of a folder of them.

`source` hands over a file simulation by simulation. Cases, conversation and score are made as by the
environment `tau2`; what decides the score stays out, but for the gold actions, which are a training label.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trainer.domain import Message, Rollout, Rubric, RubricCriterion, TextPart
from trainer.environments.tau2.messages import conversation_of
from trainer.environments.tau2.scoring import check_ending, evaluation_of
from trainer.environments.tau2.tasks import CHECKS, REWARD, basis_of, criteria_of, public_id, user_query
from trainer.errors import ComponentError
from trainer.importers.cases import named_case
from trainer.importers.form import Flaw, Format, Found, chosen, texts
from trainer.importers.jsontext import RecordError, as_list, as_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from trainer.domain import Case, RubricEvaluation

FORMAT = "tau2"
_ONE = frozenset({"task_id", "termination_reason", "messages"})


def matches(record: dict[str, JsonValue]) -> bool:
    """Say whether the record is a result file of tau2, or one of its simulations."""
    if isinstance(record.get("simulations"), list):
        return "tasks" in record or "info" in record
    return record.keys() >= _ONE


def read(record: dict[str, JsonValue]) -> Iterator[Found | Flaw]:
    """Yield the rollouts; a simulation that is broken, or that nobody's fault ended, is told."""
    if not isinstance(record.get("simulations"), list):
        yield _rollout(record, {}, "")
        return
    simulations = as_list(record["simulations"], "simulations")
    if not simulations:
        raise RecordError("the file holds no simulations")
    tasks = [t for t in as_list(record.get("tasks") or [], "tasks") if isinstance(t, dict)]
    known = {str(task.get("id")): task for task in tasks}
    info = _part(record, "info")
    domain = _part(info, "environment_info").get("domain_name")
    about = {"agent": _part(info, "agent_info").get("llm"), "user": _part(info, "user_info").get("llm")}
    for value in simulations:
        simulation = as_object(value, "a simulation")
        task = known.get(str(simulation.get("task_id")), {})
        try:
            yield _rollout(simulation, task, str(domain or ""), **about)
        except RecordError as error:
            yield Flaw(f"simulation {simulation.get('id')!s:.80}: {error}")


def _rollout(
    simulation: dict[str, JsonValue], task: dict[str, JsonValue], domain: str, **about: JsonValue
) -> Found:
    messages = _messages(simulation.get("messages"))
    if not messages:
        raise RecordError("messages is empty")
    reason = str(simulation.get("termination_reason") or "")
    case = _case(str(simulation.get("task_id")), task, domain)
    try:
        check_ending(reason)
        evaluation = _evaluation(case, task, reason, simulation.get("reward_info"))
    except ComponentError as error:
        raise RecordError(error.message) from None
    metadata: dict[str, JsonValue] = {"source": FORMAT, "termination_reason": reason}
    metadata |= {key: value for key, value in about.items() if isinstance(value, str)}
    metadata |= chosen(simulation, "id", "trial", "seed", "duration", "agent_cost", "user_cost")
    rollout = Rollout(case=case, messages=messages, evaluation=evaluation, metadata=metadata)
    return Found(rollout, texts(simulation.get("id")))


def _messages(value: JsonValue) -> tuple[Message, ...]:
    if value is None:
        raise RecordError("it has no messages (a simulation of speech has none)")
    simulated: list[dict[str, JsonValue]] = []
    instructions: list[Message] = []
    for at, item in enumerate(as_list(value, "messages")):
        message = as_object(item, f"messages[{at}]")
        several = message.get("tool_messages")
        if message.get("role") == "system":
            text = str(message.get("content") or "")
            instructions.append(Message(role="system", parts=(TextPart(text=text),)))
        elif isinstance(several, list):
            simulated += [as_object(one, f"messages[{at}]") for one in several]
        else:
            simulated.append(message)
    try:
        return (*instructions, *conversation_of(simulated).messages)
    except ComponentError as error:
        raise RecordError(error.message) from None


def _case(task_id: str, task: dict[str, JsonValue], domain: str) -> Case:
    place = f"{domain}_" if domain else ""
    name = f"tau2_{place}{public_id(task_id)}"
    parts = [CHECKS[part] for part in dict.fromkeys(basis_of(task)) if part in CHECKS]
    criteria = [RubricCriterion(name=n, description=d, required=False, weight=0.0) for n, d in parts]
    reward = RubricCriterion(name=REWARD, description="The tau2 environment reward is 1.0.")
    given: dict[str, JsonValue] = {"domain": domain} if domain else {}
    actions = criteria_of(task).get("actions")
    if isinstance(actions, list):
        given["expected_actions"] = [
            {"name": action.get("name", ""), "arguments": action.get("arguments") or {}}
            for action in actions
            if isinstance(action, dict) and action.get("requestor", "assistant") == "assistant"
        ]
    return named_case(
        name,
        user_query(task),
        given=given,
        metadata={"source": FORMAT},
        rubric=Rubric(name=f"{name}_rubric", criteria=(reward, *criteria)),
    )


def _evaluation(
    case: Case, task: dict[str, JsonValue], reason: str, value: JsonValue
) -> RubricEvaluation | None:
    """Return the evaluation; None where nobody has scored the simulation yet."""
    if value is None:
        return None
    reward = dict(as_object(value, "reward_info"))
    parts = reward.get("reward_breakdown")
    if isinstance(parts, dict):  # numbers that are none are as good as none
        reward["reward_breakdown"] = {k: v for k, v in parts.items() if _is_share(v)}
    once = {**task, "evaluation_criteria": {**criteria_of(task), "reward_basis": _basis(task)}}
    return evaluation_of(case, once if criteria_of(task) else task, reason, reward)


def _basis(task: dict[str, JsonValue]) -> list[JsonValue]:
    return list(dict.fromkeys(basis_of(task)))


def _is_share(value: JsonValue) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1 and math.isfinite(value)


def _part(value: JsonValue, key: str) -> dict[str, JsonValue]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


TAU2 = Format("tau2", FORMAT, matches, read)
