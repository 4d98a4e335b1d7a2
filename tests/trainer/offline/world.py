"""A small shop whose hidden rules an agent breaks now and then: rollouts for the learner's tests."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from trainer.domain import (
    Case,
    CriterionResult,
    Message,
    Rollout,
    Rubric,
    RubricEvaluation,
    TextPart,
    ToolPart,
)
from trainer.offline.facts import Facts, read_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
SYSTEM = "You help customers of a shop. It is 2025-06-01 12:00:00."
Turn = tuple[str, str] | tuple[str, dict[str, "JsonValue"], "JsonValue"]


def say(role: str, text: str) -> Message:
    return Message(role=role, parts=(TextPart(text=text),))


def call(
    tool: str,
    arguments: JsonValue,
    answer: JsonValue = None,
    *,
    refused: bool = False,
    role: str = "assistant",
) -> Message:
    output = answer if isinstance(answer, str) else json.dumps(answer)
    part = ToolPart(
        tool_id="1",
        tool_name=tool,
        tool_input=arguments,
        tool_output=output,
        tool_status="error" if refused else "completed",
    )
    return Message(role=role, parts=(part,))


def rollout(
    messages: Sequence[Message],
    *,
    case: str = "one",
    passed: bool = True,
    trial: int = 0,
    criteria: dict[str, bool] | None = None,
    expected: list[JsonValue] | None = None,
) -> Rollout:
    results = tuple(
        CriterionResult(criterion_name=n, passed=ok, score=float(ok)) for n, ok in (criteria or {}).items()
    )
    return Rollout(
        case=Case(
            name=case,
            rubric=Rubric(name="r"),
            input={} if expected is None else {"expected_actions": expected},
        ),
        messages=tuple(messages),
        evaluation=RubricEvaluation(passed=passed, score=float(passed), criterion_results=results),
        metadata={"trial": trial},
    )


def facts(messages: Sequence[Message], **options: object) -> Facts:
    made = rollout(messages, **options)  # type: ignore[arg-type]
    assert made.evaluation is not None
    return read_facts(made, made.evaluation)


def shop(
    cases: int = 12, trials: int = 6, seed: int = 1, *, criteria: bool = False, name: str = "case"
) -> list[Rollout]:
    """Orders older than thirty days and shipped ones may not be cancelled; the agent does not know."""
    rng = random.Random(seed)  # noqa: S311
    found: list[Rollout] = []
    for number in range(cases):
        age = rng.choice([3, 12, 22, 28, 34, 45, 70]) if number % 2 else rng.choice([36, 44, 58, 80])
        order = {
            "order_id": f"O{rng.randrange(10**6)}",
            "customer_id": f"C{rng.randrange(10**6)}",
            "created_at": (NOW - timedelta(days=age)).isoformat(),
            "status": rng.choice(["pending", "packed"]),
            "total": rng.randrange(20, 900),
        }
        found += [
            _served(f"{name}-{number}", trial, order, rng, broken=age > 30, criteria=criteria)
            for trial in range(trials)
        ]
    return found


def _served(
    case: str, trial: int, order: dict[str, JsonValue], rng: random.Random, *, broken: bool, criteria: bool
) -> Rollout:
    key = {"order_id": order["order_id"]}
    cancelled = rng.random() < 0.6
    messages = [
        say("system", SYSTEM),
        say("user", f"Please cancel my order {order['order_id']}."),
        call("get_order", key, order),
    ]
    if cancelled:
        messages.append(call("cancel_order", key, {**order, "status": "cancelled"}))
    messages.append(say("assistant", "Done." if cancelled else "That is not possible."))
    good = cancelled is not broken
    if rng.random() < 0.05:
        good = False
    named = {"window": not (cancelled and broken), "served": cancelled or broken} if criteria else None
    return rollout(messages, case=case, trial=trial, passed=good, criteria=named)
