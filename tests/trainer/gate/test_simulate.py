from __future__ import annotations

import numpy as np
import pytest

from trainer.gate.simulate import RATES, Rates, Setting, moved, simulate
from xpstore.settings import GatePolicy

POLICY = GatePolicy()
SIZES = [(10, 1), (10, 4), (50, 1), (50, 4)]
SPREADS = ["shift", "scale"]


def rates(cases: int, trials: int, effect: float, spread: str = "shift", updates: int = 400) -> Rates:
    return simulate(Setting(cases, trials, effect, spread), POLICY, updates=updates)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("effect", [0.2, -0.1, 0.0])
def test_an_update_has_exactly_the_effect_that_it_is_said_to_have(effect, spread):
    before = np.random.default_rng(2).beta(*RATES, (200, 50))
    after = moved(before, effect, spread)
    assert np.allclose((after - before).mean(axis=1), effect)
    assert after.min() >= 0
    assert after.max() <= 1


def test_the_same_seed_gives_the_same():
    assert rates(10, 4, -0.1, updates=20) == rates(10, 4, -0.1, updates=20)


@pytest.mark.parametrize(("cases", "trials"), SIZES)
def test_what_changes_nothing_is_hardly_ever_called_progress(cases, trials):
    assert rates(cases, trials, 0.0).progress <= 0.05


def test_a_gain_of_twenty_points_is_seen_and_a_loss_of_ten_does_not_pass():
    assert rates(50, 4, 0.2, updates=200).progress >= 0.95
    assert rates(50, 4, -0.1).accepted <= 0.05
    assert rates(50, 4, 0.0).accepted >= 0.8


@pytest.mark.stress
@pytest.mark.parametrize(("cases", "trials"), SIZES)
@pytest.mark.parametrize("spread", SPREADS)
def test_the_error_rates_of_the_gate(cases, trials, spread):
    """Four thousand updates each."""
    nothing = rates(cases, trials, 0.0, spread, updates=4000)
    gain = rates(cases, trials, 0.2, spread, updates=4000)
    loss = rates(cases, trials, -0.1, spread, updates=4000)
    assert nothing.progress <= 0.05
    assert loss.progress <= 0.05
    if (cases, trials) == (50, 4):
        assert gain.progress >= 0.95
        assert loss.accepted <= 0.05
        assert nothing.accepted >= 0.8
