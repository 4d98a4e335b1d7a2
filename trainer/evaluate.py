"""Measuring the experiences at a commit on a suite; what is on record is not paid for again.

The key of a measurement (xpstore/evaluation.py) names everything that decides a score. A record with
failures is completed: the trials that failed are run again, and the whole becomes its next repetition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.rollouts import Conditions, score_trials
from trainer.suite import suite_digest
from trainer.trials import gate_seed, seed_of, seeded
from xpstore import evaluation, lock, measured
from xpstore.evaluation import EvaluationKey, EvaluationRecord
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.domain import Case
    from trainer.environment import World
    from trainer.rollouts import Progress
    from trainer.store_door import StoreDoor
    from xpstore.experience import ExperienceSet
    from xpstore.location import Location


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is to be measured, but for the experiences."""

    world: World
    suite: str
    cases: Sequence[Case]
    trials: int
    """Attempts at each case."""
    seed: int
    """What the trials' seeds are derived from (trials.py)."""
    parallel: int = 8
    time_limit: float | None = None
    """Seconds that one attempt may take; None = no limit."""
    fresh: bool = False
    """Measure again, whatever is on record."""
    is_own: bool = False
    """Use no scores that another repository has measured: what is on record, anybody may have pushed."""
    pair: str = ""
    """For a gate, an id of what it compares: it then has seeds of its own, whatever `seed` says."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each trial of a case."""
        numbers = range(self.trials)
        if self.pair:
            return tuple(gate_seed(self.pair, number) for number in numbers)
        return tuple(seed_of(self.seed, number, training=False) for number in numbers)

    def key(self, experiences: str) -> EvaluationKey:
        """Return the key of measuring a tree of experiences."""
        who = self.world.environment
        return EvaluationKey(
            experiences=experiences,
            suite=self.suite,
            suite_digest=suite_digest(self.cases),
            trials=self.trials,
            seeds=self.seeds,
            agent=who.agent,
            model=who.model,
            simulator=who.simulator,
            environment=self.world.id,
            code=f"{who.version} {who.code}",
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """A record, and how it came about."""

    record: EvaluationRecord
    reused: int
    """How many of its scores were on record before."""
    commit: str
    """What was asked for; the record may have been made at another commit with the same experiences."""
    ran: int = 0
    """How many trials were run for it."""

    @property
    def is_reused(self) -> bool:
        """Whether nothing had to be run."""
        return self.reused == self.record.n and not self.record.failures

    @property
    def exit_code(self) -> int:
        """1 where a trial could not be scored, or none was; else 0."""
        return 1 if self.record.failures or not self.record.n else 0


async def measure(
    door: StoreDoor, ref: str, what: Measurement, progress: Progress | None = None, stage: str = "evaluate"
) -> Measured:
    """Return how the experiences at a ref do; keep what is new. No analysis, and no policy is written.

    Where somebody else measures the same meanwhile, what is on record first counts, for both. Where no trial
    could be scored, nothing is kept. Raises NotFoundError for an unknown ref.
    """
    policy_set, key, known = await door.call(lambda location: _known(location, ref, what))
    if known and not known.failures and not what.fresh:
        # the same experiences: the scores are this commit's too; and a kill may have come before the note
        await door.call(lambda location: evaluation.renote(location, [policy_set.snapshot_id]))
        return Measured(known, known.n, policy_set.snapshot_id)
    kept = known.results if known and not what.fresh else ()
    done = {(result.case, result.trial) for result in kept}
    trials = seeded(what.cases, what.seeds)
    conditions = Conditions(
        policy_set=policy_set,
        snapshot_id=policy_set.snapshot_id,
        training=False,
        metadata={},
        parallel=what.parallel,
        time_limit=what.time_limit,
        stage=stage,
    )
    missing = [trial for trial in trials if trial.key not in done]
    results, failures = await score_trials(what.world.environment.executor(), missing, conditions, progress)
    scored = {(result.case, result.trial): result for result in (*kept, *results)}
    record = EvaluationRecord(
        key=key,
        commit=policy_set.snapshot_id,
        results=tuple(scored[trial.key] for trial in trials if trial.key in scored),
        failures=tuple(failures),
    )
    if results:
        record = await door.call(lambda location: _filed(location, what, known, record))
    return Measured(record, len(kept), policy_set.snapshot_id, len(missing))


def _filed(
    location: Location, what: Measurement, known: EvaluationRecord | None, record: EvaluationRecord
) -> EvaluationRecord:
    """Put what was measured on record and return what is there; `known`: what was there before it was run."""
    with lock.store_lock(location.repo.common_dir):
        others = evaluation.repetitions(location, record.key)
        first = evaluation.find(location, record.key, _usable(location, what))
        if first and first != known and not what.fresh:
            if not first.failures:
                return first
            record = _completed(first, record)
        record = record.model_copy(update={"fresh": max((each.fresh + 1 for each in others), default=0)})
        # what another repository has found just so needs no second record
        same = (each for each in others if what.is_own and _scores(each) == _scores(record))
        return evaluation.write(location, next(same, record))


def _completed(first: EvaluationRecord, record: EvaluationRecord) -> EvaluationRecord:
    """Return a record with the scores of the first one, and of another one what the first had no score of."""
    scored = {(r.case, r.trial): r for r in (*record.results, *first.results)}
    return record.model_copy(
        update={
            "results": tuple(scored.values()),
            "failures": tuple(f for f in record.failures if (f.case, f.trial) not in scored),
        }
    )


def _scores(record: EvaluationRecord) -> tuple[object, ...]:
    return record.key, record.commit, record.results, record.failures


def _known(
    location: Location, ref: str, what: Measurement
) -> tuple[ExperienceSet, EvaluationKey, EvaluationRecord | None]:
    """Return the experiences at a ref, the key of measuring them, and the newest record to use."""
    policy_set = snapshot(location, ref)
    key = what.key(evaluation.experiences_at(location, policy_set.snapshot_id))
    return policy_set, key, evaluation.find(location, key, _usable(location, what))


def _usable(location: Location, what: Measurement) -> set[str] | None:
    """Return the names of the records that may be used; None = all."""
    return measured.names(location) if what.is_own else None
