from __future__ import annotations

import subprocess
import sys

import pytest

from trainer.environment import code_digest, load_environment
from trainer.environments.order_desk import OrderDesk, make
from trainer.environments.order_desk.desk import DECIDING
from trainer.environments.order_desk.policy import draw_policy

LOADS = """
import sys, trainer.environments.order_desk
print(*(name for name in sys.modules if name.partition(".")[0] in {"xpstore", "trainer"}))
"""
DECIDES_NOTHING = {
    *("trainer", "trainer.environment", "trainer.errors", "trainer.offline"),
    *("xpstore", "xpstore.errors", "xpstore.failures", "xpstore.gitcli", "xpstore.guards", "xpstore.hashing"),
    *("xpstore.collecting", "xpstore.derived", "xpstore.layout", "xpstore.pages", "xpstore.snapshot"),
    *("xpstore.gradient", "xpstore.model", "xpstore.plan", "xpstore.trajectory"),
    *("xpstore.merge_order", "xpstore.merge_statements", "xpstore.merged_page", "xpstore.settings"),
}
"""What the desk loads beside: errors, values of training, and how pages come out of git (their bytes are in
the key of a score)."""


def test_it_is_installed() -> None:
    found = load_environment("order-desk", {"seed": 5})
    assert isinstance(found, OrderDesk)
    assert (found.name, found.agent, found.model, found.simulator) == ("order-desk", "scripted/1", "", "")
    assert found.policy == draw_policy(5)


def test_options_that_change_scores_are_in_the_version() -> None:
    versions = {make(o).version for o in ({}, {"seed": 2}, {"slip_rate": 0.5}, {"seed": 2, "slip_rate": 0.5})}
    assert len(versions) == 4
    assert make({}).version == make({"slip_rate": 0.03}).version


def test_all_code_that_decides_a_score_is_in_the_digest() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    decides = {name for name in loaded if any(f"{name}.".startswith(f"{d}.") for d in DECIDING)}
    assert loaded - decides == DECIDES_NOTHING
    assert make({}).code == make({"seed": 2}).code == code_digest(*DECIDING)
    assert make({}).code not in make({}).version, "seeds come from the version"


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
