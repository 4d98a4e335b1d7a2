"""The search itself: choose, run, record, until there is an answer.

What to do next is a function of what is on record (choose.py), and every step is recorded as it ends, so a
search that was stopped goes on where it was, and one that was finished is not paid for again. Trials that
cannot be scored say nothing of a commit; what fails so twice is not tried a third time in this run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from trainer.bisect import reads, state
from trainer.bisect.choose import Answer, Step, decide, likeliest
from trainer.rollouts import Conditions, result_of, run_trials
from trainer.suite import suite_digest
from trainer.trials import seeded
from xpstore import evaluation
from xpstore.errors import RefusedError
from xpstore.evaluation import EvaluationRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer.bisect.search import Search
    from trainer.domain import Rollout
    from trainer.rollouts import Progress
    from trainer.store_door import StoreDoor
    from trainer.trials import Trial
    from xpstore.evaluation import TrialFailure, TrialResult
    from xpstore.location import Location

Kind: TypeAlias = Literal["found", "same", "stuck", "spent"]


@dataclass(frozen=True, slots=True)
class Report:
    """One step that was run."""

    step: Step
    passed: tuple[int, ...]
    """At each state of the step."""
    n: tuple[int, ...]
    failures: tuple[TrialFailure, ...]
    chance: float
    """Of the likeliest culprit, after the step."""
    before: int
    """The likeliest culprit lies between these states."""
    after: int


async def search(
    door: StoreDoor, found: Search, say: Callable[[Report], None], progress: Progress | None = None
) -> tuple[Kind, Answer]:
    """Run a search to its end, or until its rollouts are spent; `say` hears of every step.

    Raises RefusedError where an end cannot be evaluated.
    """
    question = found.question
    while True:
        _check_ends(found)
        left = question.max_rollouts - found.rollouts
        step = decide(found.board, question.confidence, max(1, min(question.parallel, left)))
        if isinstance(step, Answer):
            return step.kind, step
        if len(step.states) * len(step.cases) * step.trials > left:
            _, before, after = likeliest(found.board, found.posterior)
            return "spent", Answer("stuck", before + 1, after)
        say(await _run(door, found, step, progress))


def _check_ends(found: Search) -> None:
    for number, name in ((0, found.question.good), (len(found.span.states) - 1, found.question.bad)):
        if number in found.skipped:
            raise RefusedError(
                f"{name} cannot be evaluated: {found.skipped[number]}",
                hint="see to the environment and start again; what was measured is kept",
            )


async def _run(door: StoreDoor, found: Search, step: Step, progress: Progress | None) -> Report:
    """Run a step at each of its states, record it, and take it up."""
    cases = [found.cases[number] for number in step.cases]
    first, seeds = found.scores.seeds(step.states, step.trials)
    records = []
    for number in step.states:
        trials = seeded(cases, seeds, first=first)
        records.append(await _measure(door, found, number, trials, seeds, progress))
    for number, record in zip(step.states, records, strict=True):
        found.scores.add(record)
        found.rollouts += len(record.results) + len(record.failures)
        ids = [case.id for case in found.cases]
        for failure in record.failures:
            found.failures[number, ids.index(failure.case)] += 1
            found.errors[number] = failure.error
    chance, before, after = likeliest(found.board, found.posterior)
    return Report(
        step,
        tuple(record.passed for record in records),
        tuple(record.n for record in records),
        tuple(failure for record in records for failure in record.failures),
        chance,
        before,
        after,
    )


async def _measure(  # noqa: PLR0913, PLR0917  # where and what
    door: StoreDoor,
    found: Search,
    number: int,
    trials: Sequence[Trial],
    seeds: tuple[int, ...],
    progress: Progress | None,
) -> EvaluationRecord:
    """Run trials at a state and record what came of them; note which pages were read."""
    here, question = found.span.states[number], found.question
    pages = await door.call(lambda location: found.experiences(location, number))
    statements = reads.statements_of(pages)
    results: dict[tuple[str, int], TrialResult] = {}

    async def accept(trial: Trial, rollout: Rollout) -> None:
        if rollout.evaluation is not None:  # run_trials sees to it
            results[trial.key] = result_of(trial, rollout.evaluation)
        known = found.read.get(trial.case.id, frozenset())
        found.read[trial.case.id] = known | reads.pages_read(rollout.messages, statements)

    conditions = Conditions(
        policy_set=pages,
        snapshot_id=here.commit,
        training=False,
        metadata={},
        parallel=question.parallel,
        time_limit=question.time_limit,
        stage="bisect",
    )
    failures = await run_trials(found.executor, trials, conditions, accept, progress)
    run = list({trial.case.id: trial.case for trial in trials}.values())
    key = found.what.key(here.tree).model_copy(
        update={"suite_digest": suite_digest(run), "trials": len(seeds), "seeds": seeds}
    )
    record = EvaluationRecord(
        key=key,
        commit=here.commit,
        results=tuple(results[trial.key] for trial in trials if trial.key in results),
        failures=tuple(failures),
    )

    def keep(location: Location) -> None:
        evaluation.write(location, record)
        state.save(location.repo, state.name_of(found.span, found.what.world.id), found.read)

    await door.call(keep)
    return record
