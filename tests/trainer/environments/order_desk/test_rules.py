from __future__ import annotations

import random

import pytest

from trainer.environments.order_desk.catalogue import CHANGES
from trainer.environments.order_desk.fields import FIELDS, draw_row
from trainer.environments.order_desk.rules import Forbidden, forbidden, pool


def test_the_pool_is_large_and_every_rule_is_another() -> None:
    rules = pool()
    assert len(rules) >= 30
    assert len({str(rule) for rule in rules}) == len(rules)
    assert {rule.tool for rule in rules} == CHANGES.keys()


def test_every_rule_forbids_some_calls_and_allows_more() -> None:
    dice = random.Random(3)  # noqa: S311
    draws = [{t: draw_row(t, lambda _: dice.random()) for t in FIELDS} for _ in range(400)]
    for tool in CHANGES:
        for rule in forbidden(tool):
            share = sum(rule.holds(rows) for rows in draws) / len(draws)
            assert 0.2 < share < 0.6, str(rule)


@pytest.mark.parametrize(
    ("rule", "value", "held"),
    [
        (Forbidden("t", "orders", "channel", "is", "web"), "web", True),
        (Forbidden("t", "orders", "channel", "is", "web"), "app", False),
        (Forbidden("t", "orders", "placed_at", "more", 30), "2025-05-01", True),
        (Forbidden("t", "orders", "placed_at", "more", 30), "2025-05-02", False),
        (Forbidden("t", "orders", "total", "most", 150), 150, True),
        (Forbidden("t", "orders", "total", "most", 150), 151, False),
    ],
)
def test_limits_are_exact(rule: Forbidden, value: str | int, held: bool) -> None:  # noqa: FBT001
    assert rule.holds({"orders": {rule.field: value}}) is held
