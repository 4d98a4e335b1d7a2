from __future__ import annotations

import random

from trainer.environments.order_desk.fields import FIELDS, Choice, Day, Span, age, draw_row


def test_quantiles_reach_both_ends() -> None:
    assert (Choice(("a", "b")).at(0.0), Choice(("a", "b")).at(0.999)) == ("a", "b")
    assert (Span(3, 7).at(0.0), Span(3, 7).at(0.999)) == (3, 7)
    assert [age(Day(1, 60).at(q)) for q in (0.0, 0.999)] == [1, 60]


def test_a_row_has_every_field() -> None:
    dice = random.Random(1)  # noqa: S311
    for table, fields in FIELDS.items():
        assert draw_row(table, lambda _: dice.random()).keys() == fields.keys()
