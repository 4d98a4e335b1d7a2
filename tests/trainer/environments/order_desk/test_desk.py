from __future__ import annotations

import pytest

from trainer.environment import load_environment
from trainer.environments.order_desk import OrderDesk, make
from trainer.environments.order_desk.policy import draw_policy


def test_it_is_installed() -> None:
    found = load_environment("order-desk", {"seed": 5})
    assert isinstance(found, OrderDesk)
    assert (found.name, found.agent, found.model, found.simulator) == ("order-desk", "scripted/1", "", "")
    assert found.policy == draw_policy(5)


def test_options_that_change_scores_are_in_the_version() -> None:
    versions = {make(o).version for o in ({}, {"seed": 2}, {"slip_rate": 0.5}, {"seed": 2, "slip_rate": 0.5})}
    assert len(versions) == 4
    assert make({}).version == make({"slip_rate": 0.03}).version


@pytest.mark.parametrize(
    "options",
    [
        {"sed": 1},
        {"seed": "1"},
        {"seed": True},
        {"seed": 1.5},
        {"slip_rate": 2},
        {"slip_rate": "x"},
        {"slip_rate": None},
    ],
)
def test_other_options_are_refused(options: dict) -> None:
    with pytest.raises((TypeError, ValueError), match=r"seed|slip_rate"):
        make(options)
