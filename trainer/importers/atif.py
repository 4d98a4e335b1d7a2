"""ATIF, the Agent Trajectory Interchange Format (Harbor's RFC 0001): steps with calls and observations.

A side agent whose trajectory is embedded speaks where it was called, in the roles SIDE (itself) and TASK
(what it was told). One that lies in another file is named; paths in a trajectory are data and never opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import Rollout
from trainer.importers.cases import first_query, is_name, named_case, query_case
from trainer.importers.chat import NO_CALL, read_messages
from trainer.importers.form import Flaw, Format, Found, chosen, texts
from trainer.importers.jsontext import RecordError, as_list, as_object
from trainer.importers.scoring import reward_evaluation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from trainer.domain import RubricEvaluation

FORMAT = "ATIF"
SIDE = "subagent"
TASK = "delegation"
VERSIONS = frozenset(f"ATIF-v1.{minor}" for minor in range(8))
_ROLES = {"agent": "assistant", "user": "user", "system": "system"}
_SIDE_ROLES = {"agent": SIDE, "user": TASK, "system": TASK}
_LEVELS = 8  # of side agents within side agents

Items = list[dict[str, "JsonValue"]]


def matches(record: dict[str, JsonValue]) -> bool:
    """Say whether the record is a trajectory."""
    if not isinstance(record.get("steps"), list):
        return False
    version = record.get("schema_version")
    return str(version).upper().startswith("ATIF") or isinstance(record.get("agent"), dict)


def read(record: dict[str, JsonValue]) -> Iterator[Found | Flaw]:
    """Yield the rollout, after a warning where the version is not known."""
    for why in version_warning(record):
        yield Flaw(why, "warning")
    yield joined([record])


def version_warning(record: dict[str, JsonValue]) -> list[str]:
    """Return what is to be told of a version that is not known; nothing of one that is."""
    version = record.get("schema_version")
    if isinstance(version, str) and version in VERSIONS:
        return []
    return [f"schema_version {str(version)[:40]!r} is not known; read as ATIF-v1.7"]


def joined(parts: list[dict[str, JsonValue]]) -> Found:
    """Return the rollout of a trajectory and what continues it, in order.

    Steps that a continuation only repeats (`is_copied_context`) are left out of it.
    """
    items: Items = []
    for at, part in enumerate(parts):
        items += _Reader(part, _ROLES, 0).items(is_continuation=at > 0)
    chat = read_messages(list(items), "steps")
    if not chat.messages:
        raise RecordError("steps is empty")
    first = parts[0]
    metadata: dict[str, JsonValue] = {"source": FORMAT, **_metadata(first)}
    if len(parts) > 1:
        metadata["continued"] = [_metadata(part) for part in parts[1:]]
    if chat.extra:
        metadata["messages"] = chat.extra
    extra = first.get("extra")
    task = extra.get("task_name", extra.get("task_id")) if isinstance(extra, dict) else None
    query = first_query(chat.messages)
    known: dict[str, JsonValue] = {"source": FORMAT}
    is_named = isinstance(task, str) and is_name(task)
    return Found(
        Rollout(
            case=named_case(str(task), metadata=known) if is_named else query_case(query, known),
            messages=chat.messages,
            evaluation=_evaluation(parts[-1]) or _evaluation(first),
            metadata=metadata,
        ),
        texts(*(part.get(key) for key in ("trajectory_id", "session_id") for part in parts)),
    )


def _metadata(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    agent = record.get("agent")
    keys = ("schema_version", "trajectory_id", "session_id", "notes", "final_metrics", "extra")
    about: dict[str, JsonValue] = chosen(record, *keys, "continued_trajectory_ref")
    if isinstance(agent, dict):
        about["agent"] = chosen(agent, "name", "version", "model_name", "extra")
    return about


def _evaluation(record: dict[str, JsonValue]) -> RubricEvaluation | None:
    """Return the reward that some writers put below `extra`; the format itself has no place for one."""
    metrics = record.get("final_metrics")
    for place in (record.get("extra"), metrics.get("extra") if isinstance(metrics, dict) else None):
        reward = place.get("reward") if isinstance(place, dict) else None
        if isinstance(reward, int | float):
            return reward_evaluation(float(reward), FORMAT)
    return None


class _Reader:
    """The steps of one trajectory as chat messages."""

    def __init__(self, record: dict[str, JsonValue], roles: dict[str, str], level: int) -> None:
        self._record = record
        self._roles = roles
        self._level = level
        inner = record.get("subagent_trajectories")
        sides = [side for side in inner if isinstance(side, dict)] if isinstance(inner, list) else []
        self._sides = {key: side for side in sides for key in texts(side.get("trajectory_id"))}
        self._told: set[str] = set()

    def items(self, *, is_continuation: bool = False) -> Items:
        """Return the messages; side agents that no result names come last."""
        items: Items = []
        for at, value in enumerate(as_list(self._record.get("steps"), "steps")):
            step = as_object(value, f"steps[{at}]")
            if not (is_continuation and step.get("is_copied_context") is True):
                items += self._step(step, f"steps[{at}]")
        for key in self._sides:
            items += self._side(key)
        return items

    def _step(self, step: dict[str, JsonValue], where: str) -> Items:
        source = step.get("source")
        if not isinstance(source, str) or not source:
            raise RecordError(f"{where} has no source")
        calls = [
            self._call(as_object(call, f"{where}.tool_calls"))
            for call in as_list(step.get("tool_calls") or [], f"{where}.tool_calls")
        ]
        message: dict[str, JsonValue] = {"role": self._roles.get(source, source)}
        message["content"] = step.get("message")
        if calls:
            message["tool_calls"] = list(calls)
        if step.get("reasoning_content"):
            message["reasoning_content"] = step["reasoning_content"]
        observation = as_object(step.get("observation") or {}, f"{where}.observation")
        results = as_list(observation.get("results") or [], f"{where}.observation.results")
        only = calls[0]["id"] if len(calls) == 1 else NO_CALL
        items: Items = [message]
        for value in results:
            result = as_object(value, f"{where}.observation.results")
            content, sides = self._content(result)
            items += sides
            answer: dict[str, JsonValue] = {"role": "tool", "content": content}
            answer["tool_call_id"] = result.get("source_call_id") or only
            extra = result.get("extra")
            answer["is_error"] = isinstance(extra, dict) and extra.get("is_error") is True
            items.append(answer)
        return items

    @staticmethod
    def _call(call: dict[str, JsonValue]) -> dict[str, JsonValue]:
        function: JsonValue = {"name": call.get("function_name"), "arguments": call.get("arguments")}
        return {"id": call.get("tool_call_id") or "", "function": function}

    def _content(self, result: dict[str, JsonValue]) -> tuple[JsonValue, Items]:
        """Return what a result says, and what the side agents said that it names."""
        refs = result.get("subagent_trajectory_ref") or []
        named: list[str] = []
        items: Items = []
        for ref in refs if isinstance(refs, list) else [refs]:
            if isinstance(ref, dict):
                keys = texts(ref.get("trajectory_id"), ref.get("session_id"), ref.get("trajectory_path"))
                inside = [key for key in keys if key in self._sides]
                items += self._side(inside[0]) if inside else []
                named += [] if inside else list(keys[:1])
        content = result.get("content")
        if named and content in (None, "", []):
            content = f"[side agents, recorded apart: {', '.join(named)}]"
        return content, items

    def _side(self, key: str) -> Items:
        if key in self._told or self._level == _LEVELS:
            return []
        self._told.add(key)
        return _Reader(self._sides[key], _SIDE_ROLES, self._level + 1).items()


ATIF = Format("atif", FORMAT, matches, read)
