"""Trajectories of SWE-agent (`.traj`): `trajectory` has what was run and seen, `history` what was said.

Each step is one call and its result. The call is the tool call of the model where it made one, else the
command line, as a call of `bash`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import Rollout
from trainer.importers.cases import first_query, named_case, query_case
from trainer.importers.chat import read_messages
from trainer.importers.form import Format, Found, chosen, texts
from trainer.importers.jsontext import RecordError, as_list, as_object, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

FORMAT = "SWE-agent"
SHELL = "bash"
"""The tool whose argument is a command line."""
_STEP_KEYS = ("action", "observation")


def matches(record: dict[str, JsonValue]) -> bool:
    """Say whether the record is a trajectory of SWE-agent."""
    steps = record.get("trajectory")
    if not isinstance(steps, list) or not ("history" in record or "info" in record):
        return False
    return all(isinstance(step, dict) and any(key in step for key in _STEP_KEYS) for step in steps[:3])


def read(record: dict[str, JsonValue]) -> tuple[Found]:
    """Return the rollout. What stands after the last step in `history` is not lost: its step has it."""
    history = [_object(item, "history") for item in as_list(record.get("history") or [], "history")]
    spoken = [item for item in history if item.get("is_demo") is not True]
    begin = next((at for at, item in enumerate(spoken) if item.get("role") == "assistant"), len(spoken))
    items: list[dict[str, JsonValue]] = [
        {"role": item.get("role"), "content": item.get("content")} for item in spoken[:begin]
    ]
    calls = _Calls([item for item in spoken[begin:] if item.get("role") == "assistant"])
    for at, value in enumerate(as_list(record.get("trajectory"), "trajectory")):
        items += _step(_object(value, "trajectory"), at, calls)
    chat = read_messages(list(items), "trajectory")
    if not chat.messages:
        raise RecordError("the trajectory is empty")
    info = record.get("info") if isinstance(record.get("info"), dict) else {}
    replay = _replay(record.get("replay_config"))
    problem = replay.get("problem_statement")
    name = problem.get("id") if isinstance(problem, dict) else None
    metadata: dict[str, JsonValue] = {"source": FORMAT, **chosen(record, "environment")}
    metadata |= chosen(
        as_object(info, "info"), "exit_status", "submission", "model_stats", "swe_agent_version"
    )
    agent = replay.get("agent")
    model = agent.get("model") if isinstance(agent, dict) else None
    if isinstance(model, dict):
        metadata |= {"model": model.get("name"), **chosen(model, "temperature")}
    query = first_query(chat.messages)
    known: dict[str, JsonValue] = {"source": FORMAT}
    case = named_case(name, metadata=known) if isinstance(name, str) else query_case(query, known)
    rollout = Rollout(case=case, messages=chat.messages, metadata=metadata)
    return (Found(rollout, texts(record.get("instance_id"), name)),)


def _object(value: JsonValue, what: str) -> dict[str, JsonValue]:
    return as_object(value, f"an item of {what}")


def _replay(value: JsonValue) -> dict[str, JsonValue]:
    """Return the configuration of the run, which newer versions write as JSON text."""
    if isinstance(value, str):
        try:
            value = parse(value)
        except RecordError:
            return {}
    return value if isinstance(value, dict) else {}


class _Calls:
    """The tool calls that the model made, found by the action they became."""

    def __init__(self, said: list[dict[str, JsonValue]]) -> None:
        self._said = said
        self._at = 0

    def of(self, action: str) -> list[JsonValue]:
        """Return the next message's calls if it is this action that it asked for."""
        for at in range(self._at, len(self._said)):
            if str(self._said[at].get("action") or "").strip() == action.strip():
                self._at = at + 1
                found = self._said[at].get("tool_calls")
                return found if isinstance(found, list) else []
        return []


def _step(step: dict[str, JsonValue], at: int, calls: _Calls) -> Iterator[dict[str, JsonValue]]:
    """Yield what was said and called in a step, and what came back."""
    action = step.get("action")
    action = action if isinstance(action, str) else ""
    thought = step.get("thought") or step.get("response")
    observation = step.get("observation")
    message: dict[str, JsonValue] = {"role": "assistant", "content": thought or ""}
    if not action.strip():
        yield message
        if observation:
            yield {"role": "user", "content": observation}
        return
    made = calls.of(action)
    one = made[0] if len(made) == 1 and isinstance(made[0], dict) else None
    call_id = f"step-{at + 1}"
    if one is not None:
        call_id = str(one.get("id") or call_id)
        message["tool_calls"] = [{**one, "id": call_id}]
    else:
        message["tool_calls"] = [{"id": call_id, "name": SHELL, "arguments": {"command": action}}]
    yield message
    yield {"role": "tool", "tool_call_id": call_id, "content": observation or ""}


SWE_AGENT = Format("swe-agent", FORMAT, matches, read)
