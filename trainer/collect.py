"""The rollouts of a training batch: what is on record is taken up, the rest is run and recorded."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.recorder import Recorder
from trainer.redaction import redact_rollout
from trainer.results import TrainEpochResult
from trainer.rollouts import failure_of, result_of, run_trials, score_problem
from trainer.share import Share
from trainer.trials import stamped
from xpstore.hashing import canonical_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trainer.domain import Rollout, RolloutTrainingResult
    from trainer.interfaces import RolloutExecutor, TrainingJournal
    from trainer.rollouts import Conditions, Progress
    from trainer.trials import Trial
    from xpstore.evaluation import TrialFailure, TrialResult


@dataclass(slots=True)
class Collected:
    """The rollouts of one batch. Memory: the share that is studied, and a score of each."""

    failures: list[TrialFailure] = field(default_factory=list)
    taken_up: int = 0
    moved: bool = False
    """Whether what was taken up ran under another policy than the one that is trained now."""
    share: Share = field(default_factory=Share)
    trials: dict[str, Trial] = field(default_factory=dict)
    """Rollout id → its trial."""
    scored: dict[str, TrialResult] = field(default_factory=dict)
    """Rollout id → how its environment scored it."""

    def add(self, trial: Trial, rollout: Rollout) -> None:
        """Take a rollout that is on record."""
        self.trials[rollout.id] = trial
        if rollout.evaluation is not None:
            self.scored[rollout.id] = result_of(trial, rollout.evaluation)
        self.share.offer(rollout, len(canonical_json(rollout.model_dump(mode="json"))))

    def result(self, epoch: int, trained: RolloutTrainingResult | None) -> TrainEpochResult:
        """Return what the batch did. A trial that neither environment nor analysis scored is a failure."""
        scored = dict(self.scored)
        failures = list(self.failures)
        analysed = {a.rollout.id: a.evaluation for a in trained.analyses} if trained else {}
        for i in self.trials.keys() - self.scored.keys():
            evaluation = analysed.get(i)
            problem = score_problem(evaluation) if evaluation else "no evaluation"
            if evaluation and not problem:
                scored[i] = result_of(self.trials[i], evaluation)
            else:
                failures.append(failure_of(self.trials[i], "evaluate", problem))
        if trained:  # nobody scored it: said once, as a failure of the trial
            rest = [f for f in trained.failures if f.rollout not in self.trials or f.rollout in scored]
            trained = trained.model_copy(update={"failures": tuple(rest)})
        dropped = len(self.trials) - len(self.share.rollouts)
        return TrainEpochResult(
            epoch=epoch,
            results=tuple(sorted(scored.values(), key=lambda result: (result.trial, result.name))),
            failures=tuple(sorted(failures, key=lambda failure: (failure.trial, failure.name))),
            changed=self.moved,
            rollouts=len(self.trials),
            taken_up=self.taken_up,
            left=dropped + (len(trained.left) if trained else 0),
            training=(trained,) if trained else (),
        )


class Collector:
    """Makes rollouts for one training run, and remembers those that the run made before it was stopped."""

    def __init__(
        self,
        executor: RolloutExecutor,
        journal: TrainingJournal,
        run_id: str,
        recorded: Mapping[tuple[str, int], str],
        progress: Progress | None,
    ) -> None:
        self._executor = executor
        self._journal = journal
        self._recorder = Recorder(journal)
        self._run_id = run_id
        self._recorded = recorded
        self._progress = progress

    @classmethod
    async def resume(
        cls, executor: RolloutExecutor, journal: TrainingJournal, run_id: str, progress: Progress | None
    ) -> Collector:
        """Return the collector of a run, with what it has recorded so far. No run id, no memory."""
        recorded = await journal.of_run(run_id) if run_id else {}
        return cls(executor, journal, run_id, recorded, progress)

    async def collect(self, trials: Sequence[Trial], conditions: Conditions, epoch: int) -> Collected:
        """Return the rollouts of the trials. Raises what the journal raises; what is recorded stays."""
        collected = Collected()
        missing: list[Trial] = []
        for trial in trials:
            if (known := self._recorded.get(trial.key)) is None:
                missing.append(trial)
            else:
                rollout = await self._journal.rollout(known)
                collected.add(trial, rollout)
                collected.taken_up += 1
                collected.moved |= rollout.policy_snapshot_id != conditions.snapshot_id

        async def accept(trial: Trial, rollout: Rollout) -> None:
            clean = await asyncio.to_thread(redact_rollout, rollout)
            marked = stamped(clean, trial, self._run_id, epoch) if self._run_id else clean
            await self._recorder.put(marked)
            collected.add(trial, marked)

        collected.failures = await run_trials(self._executor, missing, conditions, accept, self._progress)
        return collected
