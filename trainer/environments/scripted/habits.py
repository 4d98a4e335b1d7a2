"""What a scripted agent does before anybody teaches it anything."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trainer.environments.agent import ToolSchema


@dataclass(frozen=True)
class Habits:
    """How an agent of one trade understands requests, and how it starts."""

    requests: Mapping[str, str]
    """Tool → regular expression of the words that call for it; the first that matches counts."""
    numbers: Mapping[str, str]
    """Argument → regular expression of its values in a request, such as order numbers."""
    first_look: str
    """The reading tool that it calls first."""
    text: str
    """What it writes where a tool wants a text."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request asks for, as the agent understands it."""

    tool: str
    arguments: Mapping[str, str]


def understand(request: str, habits: Habits, tools: Sequence[ToolSchema]) -> Wish | None:
    """Return the tool that a request calls for and what it says of the arguments; None if it is not clear."""
    known = {t.name: t for t in tools}
    for tool, words in habits.requests.items():
        if tool in known and re.search(words, request, re.IGNORECASE):
            found = {k: m[0] for k, p in habits.numbers.items() if (m := re.search(p, request))}
            for key, options in options_of(known[tool]).items():
                said = [o for o in options if o.replace("_", " ") in request.lower()]
                if said:
                    found[key] = said[0]
            return Wish(tool, found)
    return None


def options_of(tool: ToolSchema) -> dict[str, tuple[str, ...]]:
    """Return argument → its options, for the arguments that have any."""
    properties = tool.parameters.get("properties")
    found: dict[str, tuple[str, ...]] = {}
    for key, schema in properties.items() if isinstance(properties, dict) else ():
        options = schema.get("enum") if isinstance(schema, dict) else None
        if isinstance(options, list):
            found[key] = tuple(str(o) for o in options)
    return found


def required(tool: ToolSchema) -> tuple[str, ...]:
    """Return the arguments that a tool needs, in the schema's order."""
    names = tool.parameters.get("required")
    return tuple(str(n) for n in names) if isinstance(names, list) else ()


@dataclass(frozen=True)
class Dice:
    """The agent's whims: a number per purpose, the same each time that it is asked for."""

    seed: str
    slip_rate: float
    """How often it forgets one lesson, or shies away from a change."""
    training: bool
    """Whether it tries what it would not do otherwise, so that there is something to learn from."""

    def below(self, purpose: str, share: float) -> bool:
        """Say whether the number of a purpose is below a share; true as often."""
        return random.Random(f"{self.seed} {purpose}").random() < share  # noqa: S311  # whims, no secret

    def tries(self, purpose: str, share: float) -> bool:
        """Say whether to try something new: never outside of training."""
        return self.training and self.below(purpose, share)

    def ignores(self, sentence: str) -> bool:
        """Say whether to act as if a lesson had not been given."""
        return self.below(f"ignore {sentence}", self.slip_rate + (IGNORES if self.training else 0.0))

    def declines(self) -> bool:
        """Say whether to shy away from what was asked for."""
        return self.below("decline", self.slip_rate + (DECLINES if self.training else 0.0))


IGNORES = 0.2
DECLINES = 0.25
LOOKS = 0.75
"""How often an agent in training calls a reading tool that it does not need."""
RECORDS = 0.3
"""How often an agent in training calls a changing tool after its work that nobody asked for."""
OTHER = 0.25
"""How often an agent in training takes another option than the one that was asked for."""
