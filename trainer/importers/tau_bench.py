"""Results of tau-bench v1: a JSON array of `{task_id, reward, info, traj, trial}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import Case, Rollout
from trainer.importers.chat import read_messages
from trainer.importers.form import Format, Found, texts
from trainer.importers.jsontext import RecordError, as_list, as_number, as_object
from trainer.importers.scoring import reward_evaluation, reward_rubric
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from pydantic import JsonValue

FORMAT = "tau-bench"


def matches(record: dict[str, JsonValue]) -> bool:
    """Say whether the record looks like a result of tau-bench v1."""
    return "traj" in record and "task_id" in record and "info" in record


def read(record: dict[str, JsonValue]) -> Rollout:
    """Return the rollout; `RecordError` when the run crashed or a field is missing."""
    info = as_object(record["info"], "info")
    if "error" in info:
        raise RecordError(f"the run crashed and was not scored: {str(info['error'])[:200]}")
    reward = as_number(record.get("reward"), "reward")
    chat = read_messages(record["traj"], "traj")
    if not chat.messages:
        raise RecordError("traj is empty")
    details = info.get("reward_info")
    unscored = () if isinstance(details, dict) else ("The run ended before the environment scored it.",)
    metadata: dict[str, JsonValue] = {"source": FORMAT}
    metadata |= {key: value for key, value in record.items() if key not in {"reward", "info", "traj"}}
    metadata |= {key: value for key, value in info.items() if key not in {"task", "reward_info", "source"}}
    if "source" in info:
        metadata["last_source"] = info["source"]
    if chat.extra:
        metadata["messages"] = chat.extra
    return Rollout(
        case=_case(record["task_id"], as_object(info.get("task"), "info.task")),
        messages=chat.messages,
        evaluation=reward_evaluation(reward, FORMAT, feedback=unscored, metadata=_details(details)),
        metadata=metadata,
    )


def found(record: dict[str, JsonValue]) -> tuple[Found]:
    """Return the rollout; task and trial name it."""
    return (Found(read(record), texts(f"{record['task_id']}_{record.get('trial', 0)}")),)


TAU_BENCH = Format("tau-bench", FORMAT, matches, found)


def _case(task_id: JsonValue, task: dict[str, JsonValue]) -> Case:
    """Return the case: one for all trials of a task; the same number in another domain is another case."""
    name = f"tau_bench_{task_id}_{content_id(task)[:6]}"
    rest = {key: value for key, value in task.items() if key not in {"actions", "instruction"}}
    actions = as_list(task.get("actions") or [], "info.task.actions")
    return Case(
        name=name,
        task_signature=f"tau_bench:{task_id}",
        input={
            **rest,
            "task_id": task_id,
            "user_query": task.get("instruction", ""),
            "expected_actions": [_action(as_object(action, "info.task.actions")) for action in actions],
        },
        rubric=reward_rubric(name),
        metadata={"source": FORMAT},
    )


def _action(action: dict[str, JsonValue]) -> JsonValue:
    return {"name": action.get("name", ""), "arguments": action.get("kwargs", {})}


def _details(details: JsonValue) -> dict[str, JsonValue]:
    """Return what the environment says about the reward, without the labels that the case holds already."""
    if not isinstance(details, dict):
        return {}
    return {"reward_info": {key: value for key, value in details.items() if key != "actions"}}
