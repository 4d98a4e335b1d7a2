"""Recordings of a small returns desk, made by rules that no agent was told: what the tests learn from.

The agent is eager: it refunds. What the shop wants, and never says: opened goods are repaired, not refunded,
and an order is looked up before money moves. `sample_repo/rollouts/returns.jsonl` has these records.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = 24
TRIALS = 8
SYSTEM = "You are the returns desk of a small shop. Use the tools. Be polite and brief."
CATEGORIES = ("book", "software", "toy", "kitchen")


@dataclass
class Transcript:
    """Messages in OpenAI's chat form."""

    name: str
    messages: list[dict] = field(default_factory=list)

    def say(self, role: str, text: str) -> None:
        self.messages.append({"role": role, "content": text})

    def call(self, tool: str, arguments: dict, answer: object) -> None:
        number = f"{self.name}-{len(self.messages)}"
        function = {"name": tool, "arguments": json.dumps(arguments)}
        self.messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": number, "type": "function", "function": function}],
            },
            {
                "role": "tool",
                "tool_call_id": number,
                "content": answer if isinstance(answer, str) else json.dumps(answer),
            },
        ]


def records(cases: int = CASES, trials: int = TRIALS) -> Iterator[dict]:
    """Yield one record per trial: `case`, `trial`, `score`, `messages`."""
    for case in range(cases):
        for trial in range(trials):
            yield record(case, trial)


def order(case: int) -> dict:
    draw = random.Random(f"order {case}")  # noqa: S311  # a fixture, no secret
    return {
        "order_id": f"RX{draw.randint(10000, 99999)}",
        "category": CATEGORIES[case % 4],
        "opened": ("yes", "no")[(case // 2) % 2],
        "price": draw.randint(8, 120),
    }


def record(case: int, trial: int) -> dict:
    draw = random.Random(f"trial {case} {trial}")  # noqa: S311  # a fixture, no secret
    bought = order(case)
    number = {"order_id": bought["order_id"]}
    opened = bought["opened"] == "yes"
    talk = Transcript(f"{case}-{trial}")
    talk.say("system", SYSTEM)
    talk.say("user", f"Hi, I want my money back for order {bought['order_id']}.")
    looked = draw.random() > 0.15
    if looked:
        talk.call("get_order", number, bought)
    refunds = draw.random() > (0.5 if opened and looked else 0.05)
    if refunds:
        if draw.random() < 0.3:
            talk.call("refund_order", {**number, "method": "cash"}, "Error: method cash is not supported")
        talk.call("refund_order", {**number, "method": "original_payment"}, {"refunded": bought["price"]})
        talk.say("assistant", "Done, the money is on its way.")
    else:
        talk.call("offer_repair", number, {"ticket": f"T{draw.randint(1000, 9999)}"})
        talk.say("assistant", "I have made a repair ticket for you.")
    talk.say("user", "Thanks, bye.")
    passed = looked and refunds is not opened
    return {
        "case": f"return-{case:02}",
        "trial": trial,
        "score": float(passed),
        "messages": talk.messages,
    }


def lines(cases: int = CASES, trials: int = TRIALS) -> str:
    """Return the records as JSON lines."""
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records(cases, trials))
