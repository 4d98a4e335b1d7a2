"""The RFC's own form: one Rollout (RFC §3.4, §15.6.3), or the answer of a rollout service that holds one."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pydantic import BaseModel, JsonValue, ValidationError

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
from trainer.importers.form import Format, Found, texts
from trainer.importers.jsontext import RecordError, as_object

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "RFC rollout"

_NESTED: Mapping[type[BaseModel], Mapping[str, type[BaseModel]]] = MappingProxyType(
    {
        Rollout: {"case": Case, "messages": Message, "evaluation": RubricEvaluation},
        Case: {"rubric": Rubric},
        Rubric: {"criteria": RubricCriterion},
        RubricEvaluation: {"criterion_results": CriterionResult},
    }
)
_PARTS: Mapping[JsonValue, type[BaseModel]] = MappingProxyType({"text": TextPart, "tool": ToolPart})


def matches(record: dict[str, JsonValue]) -> bool:
    """Say whether the record looks like a Rollout, or like the answer of a rollout service."""
    if "execution_id" in record or isinstance(record.get("rollout"), dict):
        return True
    messages = record.get("messages")
    if not isinstance(messages, list):
        return False
    if any(isinstance(message, dict) and "parts" in message for message in messages):
        return True
    return not messages and ("policy_snapshot_id" in record or "evaluation" in record)


def read(record: dict[str, JsonValue]) -> Rollout:
    """Return the rollout, unknown keys under `metadata["unknown"]` (path → value).

    `RecordError` when there is no case (RFC §8.3), when the execution failed, or where a field is wrong.
    """
    name = f" (execution {record['execution_id']})" if "execution_id" in record else ""
    if "execution_id" in record or isinstance(record.get("rollout"), dict):
        if not isinstance(record.get("rollout"), dict):
            state, error = record.get("status"), record.get("error")
            raise RecordError(f"the execution holds no rollout: status {state}, error {error}{name}")
        record = as_object(record["rollout"], "rollout")
    if not isinstance(record.get("case"), dict):
        raise RecordError(f"the rollout has no case; every rollout needs one{name}")
    unknown: dict[str, JsonValue] = {}
    known = as_object(_known(record, Rollout, "", unknown), "rollout")
    if unknown:
        metadata = as_object(known.get("metadata") or {}, "metadata")
        known["metadata"] = {**metadata, "unknown": {**_mapping(metadata.get("unknown")), **unknown}}
    try:
        return Rollout.model_validate(known)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise RecordError(f"not a valid rollout: {where}: {first['msg']}{name}") from None


def found(record: dict[str, JsonValue]) -> tuple[Found]:
    """Return the rollout with the ids that it has of its own."""
    rollout = read(record)
    keys = ("execution_id", "trajectory_id", "session_id", "id")
    return (Found(rollout, texts(record.get("execution_id"), *(rollout.metadata.get(key) for key in keys))),)


ROLLOUT = Format("rollout", FORMAT, matches, found)


def _mapping(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _known(value: JsonValue, model: type[BaseModel], path: str, unknown: dict[str, JsonValue]) -> JsonValue:
    """Return `value` without the keys that `model` does not have; these go to `unknown`."""
    if isinstance(value, list):
        return [_known(item, model, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    kept: dict[str, JsonValue] = {}
    for key, item in value.items():
        here = f"{path}.{key}" if path else key
        if key not in model.model_fields:
            unknown[here] = item
        elif model is Message and key == "parts":
            kept[key] = _known_parts(item, here, unknown)
        elif key in _NESTED.get(model, {}):
            kept[key] = _known(item, _NESTED[model][key], here, unknown)
        elif key == "tool_status" and item == "running":
            kept[key] = "pending"
        else:
            kept[key] = item
    return kept


def _known_parts(parts: JsonValue, path: str, unknown: dict[str, JsonValue]) -> JsonValue:
    """Return the text and tool parts; parts of other types go to `unknown`."""
    if not isinstance(parts, list):
        return parts
    kept: list[JsonValue] = []
    for index, part in enumerate(parts):
        here = f"{path}[{index}]"
        kind = part.get("type") if isinstance(part, dict) else None
        model = _PARTS.get(kind) if isinstance(kind, str) else None
        if model is None:
            unknown[here] = part
        else:
            kept.append(_known(part, model, here, unknown))
    return kept
