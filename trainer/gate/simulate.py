"""How often the gate is wrong: it decides on made-up updates whose true effect is known.

The pass rates of the cases are drawn from Beta(0.6, 1.2), as agents' are: many cases hardly ever pass, some
nearly always, and the mean is a third. An update moves the mean pass rate of the suite by exactly its effect.
Nothing here knows how the gate decides: `judge` is asked, as it is by `xp gate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from trainer.gate.decide import CaseChange, judge
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer.stats import Floats
    from xpstore.settings import GatePolicy

RATES = (0.6, 1.2)
"""Parameters of the Beta distribution of the cases' pass rates."""
STEPS = 40
"""Halvings until an effect is met: it then is exact to 12 digits."""
Spread = Literal["shift", "scale"]
"""shift: every case moves as far as it can; scale: in proportion to what it has to lose, or to gain."""


class Rates(Frozen):
    """How often the gate said what, as fractions of the updates."""

    cases: int
    trials: int
    effect: float
    """True change of the suite's mean pass rate."""
    updates: int
    accepted: float
    rejected: float
    inconclusive: float
    progress: float


@dataclass(frozen=True, slots=True)
class Setting:
    """What is simulated."""

    cases: int
    trials: int
    effect: float
    spread: Spread = "shift"


def simulate(setting: Setting, policy: GatePolicy, *, updates: int, seed: int = 1) -> Rates:
    """Return what the gate says of many updates of one effect; the same seed gives the same."""
    rng = np.random.default_rng(seed)
    size = (updates, setting.cases)
    before = rng.beta(*RATES, size)
    after = moved(before, setting.effect, setting.spread)
    old, new = rng.binomial(setting.trials, before), rng.binomial(setting.trials, after)
    answers = [
        judge([_change(*pair, setting.trials) for pair in zip(b, a, strict=True)], setting.trials, policy)
        for b, a in zip(old.tolist(), new.tolist(), strict=True)
    ]
    decisions = [answer.decision for answer in answers]
    return Rates(
        cases=setting.cases,
        trials=setting.trials,
        effect=setting.effect,
        updates=updates,
        accepted=decisions.count("accept") / updates,
        rejected=decisions.count("reject") / updates,
        inconclusive=decisions.count("inconclusive") / updates,
        progress=sum(answer.progress for answer in answers) / updates,
    )


def moved(rates: Floats, effect: float, spread: Spread) -> Floats:
    """Return pass rates, updates by cases, whose mean over the cases is `effect` more in every update.

    Where a suite has less than that to lose, or to gain, it loses or gains all.
    """
    room = 1 - rates if effect > 0 else rates
    sign = 1 if effect > 0 else -1

    def shift(by: Floats) -> Floats:
        return np.minimum(by, room)

    def scale(by: Floats) -> Floats:
        return by * room

    change = shift if spread == "shift" else scale
    return rates + sign * change(_solved(change, abs(effect), len(rates)))


def _solved(change: Callable[[Floats], Floats], wanted: float, rows: int) -> Floats:
    """Return, for each row, the parameter within 0 and 1 whose change has the wanted mean."""
    low, high = np.zeros((rows, 1)), np.ones((rows, 1))
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = change(middle).mean(axis=1, keepdims=True) >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


@lru_cache(maxsize=65_536)
def _change(old: int, new: int, trials: int) -> CaseChange:
    return CaseChange(case="", name="", n=trials, baseline=old, candidate=new)
