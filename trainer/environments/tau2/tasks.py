"""tau2's tasks as cases: what a case says of a task, and what stays with the service.

What decides a score - gold actions, assertions, what has to be told the user, the initial state - never gets
into a case. The only exception are the gold actions of a train split, and only where the service is set up
to give them and the query asks for them: as `expected_actions`, a training label.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, cast

from trainer.domain import Case, Rubric, RubricCriterion
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

REWARD = "tau2_reward"
CHECKS = {
    "DB": ("database", "The databases of agent and user end as they should."),
    "ENV_ASSERTION": ("environment", "The world is in the state that the task asks for."),
    "ACTION": ("actions", "The calls that the task needs were made."),
    "COMMUNICATE": ("communicated", "The user was told what the task asks for."),
    "NL_ASSERTION": ("judged", "A model that judges the conversation found what the task asks for."),
}
"""Part of tau2's reward → name and description of the criterion that reports it."""
TRAIN = "train"
BASE = "base"
_NUMBER = re.compile(r"\d{1,6}")


@dataclass(frozen=True)
class TaskSet:
    """The tasks of one domain, and where they come from."""

    domain: str
    tasks: Mapping[str, dict[str, JsonValue]]
    """Task id → the task as tau2 writes it."""
    splits: Mapping[str, Sequence[str]]
    """Split → task ids, in tau2's order. A domain without splits has `base` alone."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Versions and digests: they stand in every case and rollout, since labels differ between releases."""

    def ids(self, split: str) -> Sequence[str]:
        """Return the task ids of a split. Raises UsageError where there is none by that name."""
        if split not in self.splits:
            known = ", ".join(sorted(self.splits))
            raise UsageError(f"domain {self.domain!r} has no split {split!r}", hint=f"it has: {known}")
        return self.splits[split]

    def cases(self, split: str, *, labels: bool = False) -> list[Case]:
        """Return the cases of a split, in tau2's order; `labels` has an effect on `train` only."""
        return [self._case(split, number, labels=labels) for number in range(len(self.ids(split)))]

    def task_of(self, case: Case) -> dict[str, JsonValue]:
        """Return the task of a case. Raises UsageError where it is none of these."""
        found = self._by_name.get(case.name)
        if found is None or case.task_signature != found[0]:
            raise UsageError(
                f"{case.name!r} is no case of tau2's {self.domain}", hint="query the cases of this service"
            )
        return self.tasks[found[1]]

    def split_of(self, case: Case) -> str:
        """Return the split that a case's name has."""
        return case.name.removeprefix(f"tau2_{self.domain}_").rpartition("_")[0]

    @cached_property
    def _by_name(self) -> dict[str, tuple[str, str]]:
        """Case name → its signature and the task's id."""
        return {
            self._name(split, number): (self._signature(split, task_id), task_id)
            for split, ids in self.splits.items()
            for number, task_id in enumerate(ids)
        }

    def _name(self, split: str, number: int) -> str:
        return f"tau2_{self.domain}_{split}_{number}"

    def _signature(self, split: str, task_id: str) -> str:
        return f"tau2:{self.domain}:{split}:{public_id(task_id)}"

    def _case(self, split: str, number: int, *, labels: bool) -> Case:
        task_id = self.ids(split)[number]
        task = self.tasks[task_id]
        name = self._name(split, number)
        given: dict[str, JsonValue] = {
            "domain": self.domain,
            "split": split,
            "task_id": public_id(task_id),
            "task_no": number,
            "user_query": user_query(task),
        }
        if labels and split == TRAIN:
            given["expected_actions"] = _expected(task)
        return Case(
            name=name,
            task_signature=self._signature(split, task_id),
            input=given,
            rubric=_rubric(name, task),
            metadata={
                "dataset": "tau2",
                "domain": self.domain,
                "source": "tau2",
                "split": split,
                **self.provenance,
            },
        )


def public_id(task_id: str) -> str:
    """Return the id that a case has: a number stays, any other is hashed, since it may say what to do.

    tau2 names telecom's tasks by the faults to be found.
    """
    if _NUMBER.fullmatch(task_id):
        return task_id
    return f"t-{hashlib.sha256(task_id.encode()).hexdigest()[:12]}"


def user_query(task: Mapping[str, JsonValue]) -> str:
    """Return why the user calls, as the scenario says it; not what the user knows or how it should end."""
    instructions = _part(_part(task, "user_scenario"), "instructions")
    if isinstance(instructions, dict):
        return str(instructions.get("reason_for_call") or "")
    return str(instructions or "")


def criteria_of(task: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return tau2's evaluation criteria of a task; empty where it has none."""
    found = _part(task, "evaluation_criteria")
    return found if isinstance(found, dict) else {}


def basis_of(task: Mapping[str, JsonValue]) -> list[str]:
    """Return the parts of tau2's reward that count for a task; its default where the task does not say."""
    criteria = criteria_of(task)
    found = criteria.get("reward_basis")
    if not criteria:
        return []
    return [str(part) for part in found] if isinstance(found, list) else ["DB", "COMMUNICATE"]


def read_tasks(folder: Path) -> tuple[dict[str, dict[str, JsonValue]], dict[str, list[str]], str]:
    """Return tasks, splits and the digest of `tasks.json` in a folder; `split_tasks.json` may be missing.

    Raises UsageError, with the file, for what is not there or is no list of tasks.
    """
    file = folder / "tasks.json"
    data, found = _json(file)
    if not isinstance(found, list):
        raise UsageError(f"{file} is no list of tasks", hint="it is a JSON array, as in tau2's own data")
    tasks: dict[str, dict[str, JsonValue]] = {}
    for number, task in enumerate(found):
        if not isinstance(task, dict) or not isinstance(task.get("id"), str):
            raise UsageError(f"{file}: task {number} has no id", hint="as in tau2's own data")
        tasks[str(task["id"])] = task
    splits: dict[str, list[str]] = {}
    if (named := folder / "split_tasks.json").exists():
        _, table = _json(named)
        splits = _splits(table, tasks, named)
    splits.setdefault(BASE, list(tasks))
    return tasks, splits, hashlib.sha256(data).hexdigest()


def folder_of(data: Path, domain: str) -> Path | None:
    """Return the folder with a domain's tasks below a data folder, in any of the ways they are laid out."""
    places = (data / "tau2" / "domains" / domain, data / "domains" / domain, data / domain, data)
    found = (place for place in places if (place / "tasks.json").is_file())
    place = next(found, None)
    return place if place != data or data.name == domain else None


def _splits(table: JsonValue, tasks: Mapping[str, object], file: Path) -> dict[str, list[str]]:
    if not isinstance(table, dict):
        raise UsageError(f"{file} is no table of splits", hint='such as {"train": ["0"], "test": ["1"]}')
    splits: dict[str, list[str]] = {}
    for name, ids in table.items():
        known = [str(i) for i in ids] if isinstance(ids, list) else []
        if not known or not all(i in tasks for i in known):
            raise UsageError(
                f"{file}: split {name!r} names tasks that there are not", hint="check both files"
            )
        splits[name] = known
    return splits


def _json(file: Path) -> tuple[bytes, JsonValue]:
    try:
        data = file.read_bytes()
        return data, cast("JsonValue", json.loads(data))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}", hint="check the folder") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no JSON: {error}", hint="as in tau2's own data") from error


def _rubric(name: str, task: Mapping[str, JsonValue]) -> Rubric:
    """Return the rubric: the reward decides, its parts are reported."""
    parts = [CHECKS[part] for part in basis_of(task) if part in CHECKS]
    reward = RubricCriterion(name=REWARD, description="The tau2 environment reward is 1.0.")
    return Rubric(
        name=f"{name}_rubric",
        description="tau2 scores the end of the simulation; the reward is the product of its parts.",
        criteria=(
            reward,
            *(RubricCriterion(name=n, description=d, required=False, weight=0.0) for n, d in parts),
        ),
    )


def _expected(task: Mapping[str, JsonValue]) -> list[JsonValue]:
    actions = criteria_of(task).get("actions")
    return [
        {"name": a.get("name", ""), "arguments": a.get("arguments", {})}
        for a in (actions if isinstance(actions, list) else [])
        if isinstance(a, dict) and a.get("requestor", "assistant") == "assistant"
    ]


def _part(value: JsonValue | Mapping[str, JsonValue], key: str) -> JsonValue:
    return cast("JsonValue", value.get(key)) if isinstance(value, dict) else None
