"""The company's policy: twelve rules that the seed draws. No agent is told."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.environments.order_desk.catalogue import CHANGES
from trainer.environments.order_desk.rules import (
    After,
    Before,
    Forbidden,
    Unwanted,
    after,
    before,
    forbidden,
    unwanted,
)

if TYPE_CHECKING:
    from trainer.environments.order_desk.rules import Rule


@dataclass(frozen=True, slots=True)
class Policy:
    """What the company wants of each tool."""

    rules: tuple[Rule, ...]

    def forbidden(self, tool: str) -> list[Forbidden]:
        """Return the rules on when a tool may not be called."""
        return [r for r in self.rules if isinstance(r, Forbidden) and r.tool == tool]

    def unwanted(self, tool: str) -> frozenset[str]:
        """Return how a tool may not be called."""
        return frozenset(r.value for r in self.rules if isinstance(r, Unwanted) and r.tool == tool)

    def before(self, tool: str) -> frozenset[str]:
        """Return the tools that must be called before."""
        return frozenset(r.first for r in self.rules if isinstance(r, Before) and r.tool == tool)

    def after(self, tool: str) -> frozenset[str]:
        """Return the tools that must be called afterwards."""
        return frozenset(r.then for r in self.rules if isinstance(r, After) and r.tool == tool)


def draw_policy(seed: int) -> Policy:
    """Return the policy of a seed: when each tool is forbidden, and how two of them must not be done.

    Three tools have a procedure: one with a call before, one with a call after, one with both.
    """
    dice = random.Random(f"order desk, policy {seed}")  # noqa: S311  # a world, no secret
    tools = sorted(CHANGES)
    rules: list[Rule] = [dice.choice(forbidden(tool)) for tool in tools]
    strict = dice.sample(tools, 3)
    rules += [dice.choice(unwanted(tool)) for tool in dice.sample(tools, 2)]
    rules += [dice.choice(before(tool)) for tool in strict[:2]]
    rules += [dice.choice(after(tool)) for tool in strict[1:]]
    return Policy(tuple(rules))
