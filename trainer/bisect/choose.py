"""What to measure next: where a trial is expected to tell most, for its cost. Pure.

    ends      until some case is known to fall between the ends: trials there that tell of a case
    search    trials that tell most of which suspect it was (greedy entropy)
    confirm   the culprit against its parent, the same cases on the same fresh seeds

A trial costs a rollout, whichever it is, so the most bits per cost are the most bits. What is on record costs
nothing and is used before anything is chosen.

The confirmation is a bet that rests on no belief about pass rates: where a suspect does nothing, a pair of
trials that come out differently is as likely to favour either side. With w pairs where only the parent passes
and l where only the suspect does, (2q)^w (2-2q)^l is a fair bet for any q, and by Ville's inequality it
exceeds 1/a with probability a at most, however often one looks. The a of all suspects that are tried sum to
1 - confidence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, log, pi
from typing import TYPE_CHECKING, Literal

from trainer.bisect.model import Posterior, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trainer.bisect.model import Counts

KNOWN = 0.9
"""A case that fell with this probability is one to search with."""
ENOUGH = 0.5
"""Bits that one step of the search tries to learn: with more at once, trials are spent that others spare."""
LEAST = 1e-3
"""Bits below which a trial is not worth its cost."""
_BETS = ((0.95, 0.8), (0.75, 0.2))  # q, and the share of the stake


@dataclass(frozen=True, slots=True)
class Board:
    """Everything that a choice depends on. States and suspects are numbered as in `model`."""

    prior: tuple[float, ...]
    cases: tuple[Counts, ...]
    pairs: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Confirmations, (state before, state after) → pairs that only the one before passed, only the other."""
    closed: frozenset[tuple[int, int]] = frozenset()
    """(state, case) that cannot be evaluated."""

    def is_open(self, state: int, case: int) -> bool:
        """Return whether a case can be evaluated at a state."""
        return (state, case) not in self.closed

    @property
    def states(self) -> list[int]:
        """The states where any case can be evaluated."""
        numbers, cases = range(len(self.prior) + 1), range(len(self.cases))
        return [state for state in numbers if any(self.is_open(state, case) for case in cases)]


@dataclass(frozen=True, slots=True)
class Step:
    """Trials to run next: each case at each state, so many times."""

    aim: Literal["ends", "search", "confirm"]
    states: tuple[int, ...]
    cases: tuple[int, ...]
    trials: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a search."""

    kind: Literal["found", "same", "stuck"]
    """`same`: no case is known to fall; `stuck`: one does, and no trial that can be run would tell more."""
    first: int = 0
    """The culprit is one of the suspects from `first` to `last`; those between could not be told apart."""
    last: int = 0


def decide(board: Board, confidence: float, batch: int) -> Step | Answer:
    """Return what to measure next, `batch` trials at most (2 at least for a confirmation), or the answer."""
    posterior = Posterior(board.prior, board.cases)
    if posterior.same >= confidence:
        return Answer("same")
    chance, before, after = likeliest(board, posterior)
    is_known = any(sum(posterior.affected(counts)) >= KNOWN for counts in set(board.cases))
    if is_known and chance >= confidence:
        return _confirm(board, posterior, (before, after), 1 - confidence, batch)
    found = _search(board, posterior, batch) if is_known else None
    return found or _ends(board, posterior, batch) or Answer("stuck" if is_known else "same")


def likeliest(board: Board, posterior: Posterior) -> tuple[float, int, int]:
    """Return the likeliest culprit: probability, the state before and the one after it.

    Suspects between which nothing can be evaluated are one.
    """
    chances = posterior.suspects
    return max((sum(chances[one:two]), one, two) for one, two in pairwise(board.states))


def bet(won: int, lost: int) -> float:
    """Return what the confirmation's bet has become; it began with 1."""
    return sum(stake * (2 * q) ** won * (2 - 2 * q) ** lost for q, stake in _BETS)


def wanted(board: Board, alpha: float, pair: tuple[int, int]) -> float:
    """Return what the bet on a suspect must reach.

    The k-th suspect that is tried has 6 / (pi k)^2 of alpha, which for all k sum to alpha.
    """
    tried = len({*board.pairs, pair})
    return (pi * tried) ** 2 / (6 * alpha)


def _confirm(
    board: Board, posterior: Posterior, pair: tuple[int, int], alpha: float, batch: int
) -> Step | Answer:
    now, goal = bet(*board.pairs.get(pair, (0, 0))), wanted(board, alpha, pair)
    if now >= goal:
        return Answer("found", pair[0] + 1, pair[1])
    cases = [n for n in range(len(board.cases)) if all(board.is_open(state, n) for state in pair)]
    worth = {counts: _discord(posterior, counts, pair[1]) for counts in set(board.cases)}
    few = max(1, min(batch // 2, ceil(log(goal / now) / log(2 * _BETS[0][0]))))
    return _step("confirm", pair, board, cases, worth.__getitem__, few) or Answer("stuck")


def _discord(posterior: Posterior, counts: Counts, suspect: int) -> float:
    """Return how likely only the state before the suspect passes, if it is the culprit."""
    split = table(counts).split(suspect)
    affected = posterior.affected(counts)[suspect - 1] / (posterior.suspects[suspect - 1] or 1.0)
    return affected * split.before * (1 - split.after)


def _search(board: Board, posterior: Posterior, batch: int) -> Step | None:
    inner = (state for state in board.states if 0 < state < posterior.last)
    bits = {counts: posterior.bits_on_suspects(counts) for counts in set(board.cases)}
    best, at = max(
        (
            (max((bits[c][s] for n, c in enumerate(board.cases) if board.is_open(s, n)), default=0.0), s)
            for s in inner
        ),
        default=(0.0, 0),
    )
    if best < LEAST:
        return None
    cases = [n for n in range(len(board.cases)) if board.is_open(at, n)]
    few = min(batch, ceil(ENOUGH / best))
    return _step("search", (at,), board, cases, lambda counts: bits[counts][at], few)


def _ends(board: Board, posterior: Posterior, batch: int) -> Step | None:
    steps = []
    for state in (0, posterior.last):
        bits = {counts: posterior.bits_on_case(counts, good=state == 0) for counts in set(board.cases)}
        cases = [n for n in range(len(board.cases)) if board.is_open(state, n)]
        best = max((bits[board.cases[n]] for n in cases), default=0.0)
        if best >= LEAST:
            steps.append((best, _step("ends", (state,), board, cases, bits.__getitem__, batch)))
    return max(steps, key=lambda pair: pair[0])[1] if steps else None


def _step(  # noqa: PLR0913, PLR0917  # what a step is made of
    aim: Literal["ends", "search", "confirm"],
    states: tuple[int, ...],
    board: Board,
    cases: Sequence[int],
    worth: Callable[[Counts], float],
    few: int,
) -> Step | None:
    """Return at most `few` trials of the cases that are worth most; none of less than half of the best."""
    ranked = sorted(cases, key=lambda n: -worth(board.cases[n]))
    best = worth(board.cases[ranked[0]]) if ranked else 0.0
    chosen = [n for n in ranked[:few] if worth(board.cases[n]) >= best / 2]
    return Step(aim, states, tuple(chosen), max(1, few // len(chosen))) if best else None
