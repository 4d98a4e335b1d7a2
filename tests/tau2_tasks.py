"""A small world in tau2's form, for tests that need no tau2."""

from __future__ import annotations

from trainer.environments.tau2.job import Clock, Job
from trainer.environments.tau2.reading import Reader
from trainer.environments.tau2.tasks import TaskSet
from xpstore.experience import ExperienceSet

SECRETS = ("GOLD77", "say-42-dollars", "the-agent-apologises", "hidden-start")
"""What no case may have in it."""


def task(number: str, **more: object) -> dict[str, object]:
    return {
        "id": number,
        "description": {"purpose": "the-agent-apologises"},
        "user_scenario": {
            "persona": None,
            "instructions": {
                "domain": "airline",
                "reason_for_call": f"You want to change flight {number[0]}.",
                "known_info": "Your name is Ada.",
                "task_instructions": "If asked, take GOLD77.",
            },
        },
        "initial_state": {"message_history": None, "initialization_data": {"agent_data": "hidden-start"}},
        "evaluation_criteria": {
            "actions": [
                {"action_id": "a", "name": "book", "arguments": {"id": "GOLD77"}, "requestor": "assistant"},
                {"action_id": "b", "name": "reboot", "arguments": {}, "requestor": "user"},
            ],
            "communicate_info": ["say-42-dollars"],
            "nl_assertions": ["the-agent-apologises"],
            "reward_basis": ["DB", "COMMUNICATE"],
            **more,
        },
    }


def task_set(**more: object) -> TaskSet:
    tasks = {number: task(number, **more) for number in ("1", "2", "[fault]sim_card[PERSONA:None]")}
    return TaskSet(
        "airline",
        tasks,
        {"train": ["1"], "test": ["2", "[fault]sim_card[PERSONA:None]"], "base": list(tasks)},
        {"tau2": "x 1"},
    )


def job_of(domain: str, task: dict[str, object]) -> Job:
    """Return a job of an agent that reads nothing."""
    reader = Reader(ExperienceSet(root_uri="e"), 0)
    return Job(domain=domain, task=task, policy="", reader=reader, seed=0, max_steps=200, clock=Clock(600))
