"""A search before and while it runs: the question, what is on record, what is believed.

All of it is made from the evaluations on record, so a search that was stopped goes on where it was.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from trainer.bisect import reads, state
from trainer.bisect.choose import Board
from trainer.bisect.model import Posterior
from trainer.bisect.scores import Scores
from trainer.bisect.suspects import between
from trainer.environment import world_of
from trainer.evaluate import Measurement
from trainer.suite import chosen, load_suites
from xpstore import evaluation
from xpstore.evaluation import SEARCH, EvaluationKey
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.bisect.suspects import Range
    from trainer.domain import Case
    from trainer.interfaces import RolloutExecutor
    from xpstore.experience import ExperienceSet
    from xpstore.location import Location

TRIES = 2
"""How often a case may fail to be scored at a state before it counts as one that cannot be."""
HOPELESS = 3
"""Failures after which a state without any score counts as one that cannot be evaluated."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    good: str
    bad: str
    suite: str = "gate"
    cases: tuple[str, ...] = ()
    """Names; none = all of the suite."""
    confidence: float = 0.95
    max_rollouts: int = 500
    """How many rollouts this run may cost."""
    parallel: int = 8
    """How many rollouts run at once, and so the most that are chosen at once."""
    time_limit: float | None = None
    seed: int | None = None


@dataclass(slots=True)
class Search:
    """A search and what it has found so far."""

    question: Question
    span: Range
    cases: Sequence[Case]
    what: Measurement
    executor: RolloutExecutor
    scores: Scores
    read: dict[str, frozenset[str]]
    """Case id → the pages that its rollouts had read."""
    reused: int
    """Scores that were on record before."""
    rollouts: int = 0
    """Trials that this run has cost."""
    failures: Counter[tuple[int, int]] = field(default_factory=Counter)
    """(state, case) → trials that could not be scored."""
    errors: dict[int, str] = field(default_factory=dict)
    """State → why a trial there could not be scored, the last one."""
    sets: dict[int, ExperienceSet] = field(default_factory=dict)
    """State → its experiences, those that were needed so far."""

    @property
    def board(self) -> Board:
        """What the next choice depends on."""
        counts = self.scores.counts
        undecided = [
            self.read[case.id]
            for case, found in zip(self.cases, counts, strict=True)
            if case.id in self.read and any(c[1] for c in found) and any(c[2] for c in found)
        ]
        changed = [{n for c in e.changes for n in (c.name, c.old_name)} for e in self.span.suspects]
        board = Board(reads.prior(changed, undecided), counts, closed=self.closed)
        return replace(board, pairs=self.scores.pairs(pairwise(board.states)))

    @property
    def closed(self) -> frozenset[tuple[int, int]]:
        """The (state, case) that cannot be evaluated."""
        by_state = Counter(number for number, _ in self.failures.elements())
        scored = {number for counts in self.scores.counts for number, _, _ in counts}
        hopeless = [n for n, count in by_state.items() if count >= HOPELESS and n not in scored]
        closed = {pair for pair, count in self.failures.items() if count >= TRIES}
        hopeless += self.span.passing
        return frozenset(closed | {(number, case) for number in hopeless for case in range(len(self.cases))})

    @property
    def skipped(self) -> dict[int, str]:
        """State → why it cannot be evaluated."""
        usable = set(self.board.states)
        return {
            n: self.errors[n] for n in range(len(self.span.states)) if n not in usable and n in self.errors
        }

    @property
    def posterior(self) -> Posterior:
        """What is believed now."""
        board = self.board
        return Posterior(board.prior, board.cases)

    def experiences(self, location: Location, number: int) -> ExperienceSet:
        """Return the experiences at a state."""
        if number not in self.sets:
            self.sets[number] = snapshot(location, self.span.states[number].commit)
        return self.sets[number]


def prepare(location: Location, question: Question) -> Search:
    """Return the search that a question names, with what is on record. Runs nothing.

    Raises UsageError: ends that are no ends, no environment, no such suite or case; NotFoundError.
    """
    config = location.config
    world = world_of(config.environment, config.llm)
    suite = load_suites(location, config.main, question.suite)[question.suite]
    cases = chosen(suite, question.cases, question.suite)
    span = between(location, question.good, question.bad)
    seed = config.evaluation.seed if question.seed is None else question.seed
    what = Measurement(world=world, suite=f"{SEARCH}{question.suite}", cases=cases, trials=1, seed=seed)
    trees = [s.tree for s in span.states]
    scores = Scores(trees, [case.id for case in cases], seed)
    for record in evaluation.of_trees(location, {t for n, t in enumerate(trees) if n not in span.passing}):
        if _circumstances(record.key) == _circumstances(what.key("")):
            scores.add(record)
    read = state.load(location.repo, state.name_of(span, world.id))
    return Search(question, span, cases, what, world.environment.executor(), scores, read, len(scores))


def _circumstances(key: EvaluationKey) -> tuple[str, ...]:
    return key.agent, key.model, key.simulator, key.environment, key.code
