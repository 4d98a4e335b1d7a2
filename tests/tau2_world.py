"""Scripted models for tau2: an agent that knows what to do and often stops at asking; a user hangs up.

The agent makes the calls of a task's labels one by one. Before a call that changes something it may stop,
depending on the seed and the task, unless a lesson that it reads names the tool. What it does follows from
the request alone, so retries and concurrency change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from tests.llm_server import LlmServer, Reply, Seen

if TYPE_CHECKING:
    from pathlib import Path

AGENT, USER, JUDGE = "<instructions>", "# User Simulation Guidelines", ""
"""The first lines of the system prompts."""
MARK = "<<<experiences"
READS = ("get_", "search_", "list_", "find_", "calculate", "think")
Task = Mapping[str, object]


def load(folder: Path) -> tuple[dict[str, Task], dict[str, list[str]]]:
    """Return tasks and splits of a folder of tau2's data."""
    tasks = {task["id"]: task for task in json.loads((folder / "tasks.json").read_text("utf-8"))}
    splits = folder / "split_tasks.json"
    return tasks, json.loads(splits.read_text("utf-8")) if splits.exists() else {"base": list(tasks)}


def gold(task: Task) -> list[Mapping[str, object]]:
    criteria = cast("Mapping[str, object]", task.get("evaluation_criteria") or {})
    return cast("list[Mapping[str, object]]", criteria.get("actions") or [])


def told(task: Task) -> str:
    criteria = cast("Mapping[str, object]", task.get("evaluation_criteria") or {})
    return " ".join(cast("list[str]", criteria.get("communicate_info") or [])) or "Done."


def changes(action: Mapping[str, object]) -> bool:
    return not str(action["name"]).startswith(READS)


def flat(text: object) -> str:
    return " ".join(str(text or "").split())


@dataclass
class World:
    """Answers for agent and user; `boldness` is how often the agent goes on without a lesson."""

    server: LlmServer
    tasks: Mapping[str, Task]
    boldness: float = 0.5
    wrong: Mapping[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)
    """Task id → calls that are made instead of the right ones."""

    def __post_init__(self) -> None:
        self._scenarios = {task_id: _scenario(task) for task_id, task in self.tasks.items()}
        self.server.on(AGENT, self.agent)
        self.server.on(USER, self.user)

    def task_of_user(self, seen: Seen) -> str:
        prompt = flat(seen.system)
        found = {
            task_id: sum(map(len, parts))
            for task_id, parts in self._scenarios.items()
            if all(part in prompt for part in parts)
        }
        return max(found, key=found.__getitem__)  # of two scenarios, one may be the beginning of the other

    def user(self, seen: Seen) -> object:
        own = sum(message["role"] == "assistant" for message in seen.messages)
        return "###STOP###" if own else f"Hello, I am calling about #{self.task_of_user(seen)}#."

    def agent(self, seen: Seen) -> object:
        said = next(str(m["content"]) for m in seen.messages if m["role"] == "user")
        task_id = said.split("#")[1]
        steps = self.steps(task_id, cast("int", seen.body.get("seed", 0)), lessons_in(seen.system))
        done = sum(bool(message.get("tool_calls")) for message in seen.messages)
        if done < len(steps):
            action = steps[done]
            return Reply(None, [(str(action["name"]), cast("Mapping[str, object]", action["arguments"]))])
        return told(self.tasks[task_id])

    def steps(self, task_id: str, seed: int, lessons: str) -> list[Mapping[str, object]]:
        """Return the calls that the agent makes."""
        if task_id in self.wrong:
            return list(self.wrong[task_id])
        steps = []
        for action in gold(self.tasks[task_id]):
            if changes(action) and f"`{action['name']}`" not in lessons:
                drawn = sha256(f"{seed} {task_id} {action['name']}".encode()).digest()[0] / 256
                if drawn >= self.boldness:
                    break
            steps.append(action)
        return steps


def lessons_in(prompt: str) -> str:
    return prompt.partition(MARK)[2]


def _scenario(task: Task) -> list[str]:
    scenario = cast("Mapping[str, object]", task["user_scenario"])
    instructions = scenario["instructions"]
    if isinstance(instructions, Mapping):
        keys = ("reason_for_call", "known_info", "task_instructions")
        return [flat(instructions[key]) for key in keys if instructions.get(key)]
    return [flat(instructions)]
