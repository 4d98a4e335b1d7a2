from __future__ import annotations

from collections import Counter

from trainer.environments.order_desk.catalogue import CHANGES
from trainer.environments.order_desk.policy import draw_policy
from trainer.environments.order_desk.rules import pool


def test_a_seed_draws_at_least_ten_rules_of_the_pool() -> None:
    for seed in range(20):
        rules = draw_policy(seed).rules
        assert len(set(rules)) == len(rules) >= 10
        assert set(rules) <= set(pool())


def test_seeds_differ_and_are_kept() -> None:
    assert draw_policy(3) == draw_policy(3)
    assert len({draw_policy(seed).rules for seed in range(30)}) == 30


def test_every_kind_of_rule_is_drawn() -> None:
    policy = draw_policy(5)
    kinds = Counter(type(rule).__name__ for rule in policy.rules)
    assert kinds == {"Forbidden": 6, "Unwanted": 2, "Before": 2, "After": 2}
    told = [
        len(policy.forbidden(t)) + len(policy.unwanted(t)) + len(policy.before(t)) + len(policy.after(t))
        for t in CHANGES
    ]
    assert sum(told) == len(policy.rules)
