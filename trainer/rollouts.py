"""Rollouts: an executor works on trials, many at once, and whatever goes wrong belongs to its case.

The executor is handed one case at a time. Parallelism, time limits and failures are kept here, once for
training and evaluation. No lock is held while an agent works.
"""

from __future__ import annotations

import asyncio
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING

from trainer.context import ExecutionContext
from trainer.domain import Rollout
from trainer.errors import ComponentError, UnscoredError
from xpstore.errors import XpError
from xpstore.evaluation import TrialFailure, TrialResult
from xpstore.hashing import mend

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import RubricEvaluation
    from trainer.interfaces import RolloutExecutor
    from trainer.trials import Trial
    from xpstore.experience import ExperienceSet

    Accept = Callable[[Trial, Rollout], Awaitable[None]]
    Progress = Callable[[str, int, int], None]


ERROR_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the trials of one batch have in common."""

    policy_set: ExperienceSet
    snapshot_id: str
    training: bool
    metadata: Mapping[str, JsonValue]
    parallel: int
    """How many trials run at once."""
    time_limit: float | None
    """Seconds that one trial may take; None = no limit."""
    stage: str = "rollouts"
    """What progress is reported under."""

    def context(self, trial: Trial) -> ExecutionContext:
        """Return what the executor is told about a trial."""
        return ExecutionContext(
            policy_snapshot_id=self.snapshot_id,
            seed=trial.seed,
            training=self.training,
            metadata={**self.metadata, "trial": trial.number},
        )


async def run_trials(
    executor: RolloutExecutor,
    trials: Sequence[Trial],
    conditions: Conditions,
    accept: Accept,
    progress: Progress | None = None,
) -> list[TrialFailure]:
    """Run every trial and hand each good rollout to `accept` as it comes; return what failed, in order.

    An exception of `accept` ends the run: the others are cancelled, and it is raised.
    """
    gate = asyncio.Semaphore(max(1, conditions.parallel))
    failures: dict[int, TrialFailure] = {}
    done = 0

    async def one(index: int, trial: Trial) -> None:
        nonlocal done
        async with gate:
            outcome = await _attempt(executor, trial, conditions)
        if isinstance(outcome, Rollout):
            await accept(trial, outcome)
        else:
            failures[index] = outcome
        done += 1
        if progress:
            progress(conditions.stage, done, len(trials))

    try:
        async with asyncio.TaskGroup() as group:
            for index, trial in enumerate(trials):
                group.create_task(one(index, trial))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several
    return [failures[index] for index in sorted(failures)]


async def score_trials(
    executor: RolloutExecutor,
    trials: Sequence[Trial],
    conditions: Conditions,
    progress: Progress | None = None,
) -> tuple[list[TrialResult], list[TrialFailure]]:
    """Run trials for their scores only; return those and what failed, both in the order of the trials."""
    scores: dict[tuple[str, int], TrialResult] = {}

    async def accept(trial: Trial, rollout: Rollout) -> None:
        if rollout.evaluation is not None:  # `_checked` sees to it
            scores[trial.key] = result_of(trial, rollout.evaluation)

    failures = await run_trials(executor, trials, conditions, accept, progress)
    return [scores[trial.key] for trial in trials if trial.key in scores], failures


async def _attempt(executor: RolloutExecutor, trial: Trial, conditions: Conditions) -> Rollout | TrialFailure:
    """Return the rollout of one trial, or why there is none that counts."""
    limit = asyncio.timeout(conditions.time_limit)
    start = monotonic()
    try:
        async with limit:
            rollouts = await executor.execute([trial.case], conditions.policy_set, conditions.context(trial))
        _check_time(monotonic() - start, conditions)
        return _checked(rollouts, trial, conditions)
    except XpError as error:
        stage = "evaluate" if isinstance(error, UnscoredError) else "execute"
        return failure_of(trial, stage, error.message)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task and task.cancelling():
            raise
        return failure_of(trial, "execute", "the executor cancelled itself")
    except (SystemExit, GeneratorExit) as error:  # `sys.exit()` in an agent must not end the run as a success
        return failure_of(trial, "execute", f"the executor raised {type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001  # executors are anybody's code: one failure is data
        if limit.expired():
            return failure_of(trial, "execute", f"no answer within {conditions.time_limit:g} s")
        return failure_of(trial, "execute", f"{type(error).__name__}: {error}")


def _check_time(seconds: float, conditions: Conditions) -> None:
    """Raise ComponentError for an answer that is late: an executor that blocks the loop meets no timeout."""
    if conditions.time_limit is not None and seconds > conditions.time_limit:
        raise ComponentError(f"took {seconds:.3g} s, the limit is {conditions.time_limit:g} s")


def _checked(rollouts: Sequence[Rollout], trial: Trial, conditions: Conditions) -> Rollout:
    """Return the one rollout of a trial. Raises ComponentError for what the contract forbids."""
    if len(rollouts) != 1:
        raise ComponentError(f"the executor returned {len(rollouts)} rollouts for one case")
    rollout = rollouts[0]
    if rollout.case.id != trial.case.id:
        raise ComponentError(f"the executor returned a rollout of case {rollout.case.name!r}")
    if rollout.policy_snapshot_id != conditions.snapshot_id:
        raise ComponentError(
            f"the rollout ran under policy {rollout.policy_snapshot_id or 'of no name'},"
            f" not {conditions.snapshot_id}"
        )
    if rollout.evaluation is None and not conditions.training:
        raise UnscoredError(f"the rollout of case {trial.case.name!r} has no evaluation")
    if rollout.evaluation is not None and (problem := score_problem(rollout.evaluation)):
        raise UnscoredError(f"case {trial.case.name!r}: {problem}")
    try:
        rollout.id  # noqa: B018  # computed here, where it is this trial that fails
    except ValueError as error:  # NaN and infinity, which the types let through
        raise ComponentError(f"the rollout has a value that no JSON can carry: {error}") from error
    return rollout


def score_problem(evaluation: RubricEvaluation) -> str:
    """Return which score of an evaluation is not within 0 and 1; "" where all are."""
    scores = [("the score", evaluation.score)]
    scores += [(f"the score of {c.criterion_name!r}", c.score) for c in evaluation.criterion_results]
    wrong = (f"{what} is {score}, not within 0 and 1" for what, score in scores if not 0 <= score <= 1)
    return next(wrong, "")


def result_of(trial: Trial, evaluation: RubricEvaluation) -> TrialResult:
    """Return a scored trial."""
    return TrialResult(
        case=trial.case.id,
        name=trial.case.name,
        trial=trial.number,
        seed=trial.seed,
        passed=evaluation.passed,
        score=evaluation.score,
    )


def failure_of(trial: Trial, stage: str, error: str) -> TrialFailure:
    """Return a trial that could not be scored, and why: in one line, at most ERROR_LENGTH characters.

    Secrets in it are masked here, before it gets into reports, records or on a terminal.
    """
    return TrialFailure(
        case=trial.case.id,
        name=trial.case.name,
        trial=trial.number,
        seed=trial.seed,
        stage=stage,
        error=textwrap.shorten(_masked(mend(error)), ERROR_LENGTH, placeholder=" …"),
    )


@lru_cache(maxsize=64)
def _masked(error: str) -> str:
    """Return an error without secrets; what breaks many trials breaks them with one text."""
    from xpstore.redact import Redactor  # noqa: PLC0415  # loads every detector of secrets

    return Redactor().redact_text(error)
