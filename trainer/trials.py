"""Trials: which case is run how often, on which seeds.

Seeds are hashes of purpose, base seed and number of the trial, with the purpose in the lowest bit: those of
evaluations are even, those of training odd, so that nothing is ever taught on the draws it is measured by.
Those of gates are above all of them, and differ for every two sets of experiences that are compared. None has
more than 12 digits: every JSON reader keeps them exactly, and none can pass for a payment card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from trainer.domain import Case, Rollout
from xpstore.errors import UsageError
from xpstore.hashing import content_id
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

STAMP = "trial"
"""Where a rollout's metadata has its stamp."""
MOST_ROLLOUTS = 1_000_000
"""Rollouts of one evaluation, or of one epoch."""
_HEX_DIGITS = 9  # 36 bits
_GATES = 2 << 36  # above all seeds of training and evaluation


class Trial(Frozen):
    """One attempt at a case."""

    case: Case
    number: int
    """Counts the attempts at the case, from 0; a later epoch goes on where the last one ended."""
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from the other trials of one evaluation, or of one training run: case id, number."""
        return self.case.id, self.number


def seed_of(base: int, number: int, *, training: bool) -> int:
    """Return the seed of every case's trial of this number."""
    drawn = content_id(["train" if training else "evaluate", base, number])[:_HEX_DIGITS]
    return 2 * int(drawn, 16) + training


def gate_seed(pair: str, number: int) -> int:
    """Return the seed of every case's trial of this number, where a gate compares two sets of experiences.

    `pair` is an id of the two. Nothing else decides the seed: what was compared once cannot be drawn anew.
    """
    return _GATES + 2 * int(content_id(["gate", pair, number])[:_HEX_DIGITS], 16)


def trials_of(cases: Sequence[Case], count: int, base: int, *, training: bool, first: int = 0) -> list[Trial]:
    """Return `count` trials of each case, numbered from `first`: all cases once, then all again.

    A case that is given twice is one case. Raises UsageError as `check_count`.
    """
    check_count(len(cases), count)
    seeds = [seed_of(base, number, training=training) for number in range(first, first + count)]
    return seeded(cases, seeds, first=first)


def seeded(cases: Sequence[Case], seeds: Sequence[int], *, first: int = 0) -> list[Trial]:
    """Return a trial of each case for every seed, in the same order. Raises UsageError as `check_count`."""
    check_count(len(cases), len(seeds))
    once = {case.id: case for case in cases}.values()
    return [Trial(case=case, number=n, seed=seed) for n, seed in enumerate(seeds, first) for case in once]


def check_count(cases: int, trials: int) -> None:
    """Raise UsageError where so many trials of each case are more than a run could ever keep."""
    if cases * trials > MOST_ROLLOUTS:
        raise UsageError(
            f"{trials} trials of each of {cases} cases are {cases * trials:,} rollouts",
            hint=f"at most {MOST_ROLLOUTS:,}: fewer trials, or fewer cases",
        )


class TrialStamp(Frozen):
    """Which trial of which training run a rollout is; kept in its metadata, so that a run can be resumed."""

    run: str
    epoch: int
    number: int
    seed: int
    case: str
    """The id of the case as it stands in its suite: a recording may have a redacted one."""

    @property
    def key(self) -> tuple[str, int]:
        """The key of the trial."""
        return self.case, self.number


def stamped(rollout: Rollout, trial: Trial, run: str, epoch: int) -> Rollout:
    """Return the rollout with the stamp of its trial."""
    stamp = TrialStamp(run=run, epoch=epoch, number=trial.number, seed=trial.seed, case=trial.case.id)
    metadata = {**rollout.metadata, STAMP: stamp.model_dump(mode="json")}
    return rollout.model_copy(update={"metadata": metadata})


def stamp_of(rollout: Rollout) -> TrialStamp | None:
    """Return the stamp of a rollout; None for one that comes from elsewhere."""
    try:
        return TrialStamp.model_validate(rollout.metadata.get(STAMP))
    except ValidationError:  # a `trial` of other programs
        return None
