"""A search through the real model and chooser, on scores that are drawn from pass rates."""

from __future__ import annotations

import random

from trainer.bisect.choose import Answer, Board, decide


def search(seed, before, after, suspects, *, batch=8, most=600):
    """Play a whole search on drawn scores: answer, culprit, rollouts."""
    dice = random.Random(seed)  # noqa: S311  # a game, no secret
    culprit = dice.randint(1, suspects)
    scores: list[dict[int, tuple[int, int]]] = [{} for _ in before]
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    rollouts = 0
    while rollouts < most:
        cases = tuple(tuple((s, *v) for s, v in sorted(found.items())) for found in scores)
        step = decide(Board((1 / suspects,) * suspects, cases, pairs), 0.95, batch)
        if isinstance(step, Answer):
            return step, culprit, rollouts
        for case in step.cases * step.trials:
            outcomes = []
            for state in step.states:
                outcomes.append(dice.random() < (after if state >= culprit else before)[case])
                won, lost = scores[case].get(state, (0, 0))
                scores[case][state] = (won + outcomes[-1], lost + 1 - outcomes[-1])
            rollouts += len(outcomes)
            if step.aim == "confirm":
                won, lost = pairs.get(step.states, (0, 0))
                pairs[step.states] = won + (outcomes > outcomes[::-1]), lost + (outcomes < outcomes[::-1])
    return Answer("stuck"), culprit, rollouts


def plain(seed, before, after, suspects, rollouts):
    """Play plain bisection with so many rollouts at each commit: whether it names the culprit.

    It is told the true means at both ends, and that they are as they are: the threshold lies between them.
    All cases are run equally often, but for a remainder.
    """
    dice = random.Random(f"plain {seed}")  # noqa: S311  # a game, no secret
    culprit, cases = dice.randint(1, suspects), range(len(before))
    threshold = rollouts * (sum(before) + sum(after)) / (2 * len(before))
    good, bad = 0, suspects
    while bad - good > 1:
        middle = (good + bad) // 2
        rates = after if middle >= culprit else before
        chosen = [*cases] * (rollouts // len(cases)) + dice.sample(cases, rollouts % len(cases))
        if sum(dice.random() < rates[case] for case in chosen) > threshold:
            good = middle
        else:
            bad = middle
    return bad == culprit


def tuned(before, after, suspects, accuracy, *, games=1000):
    """Return the fewest rollouts per commit with which plain bisection is so often right; by halving."""
    low, high = 0, 1024
    while high - low > 1:
        middle = (low + high) // 2
        right = sum(plain(seed, before, after, suspects, middle) for seed in range(games))
        low, high = (low, middle) if right >= accuracy * games else (middle, high)
    return high
