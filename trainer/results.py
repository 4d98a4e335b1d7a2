"""What a pipeline returns: scores per trial, failures apart, what was learned (RFC §6.9)."""

from __future__ import annotations

from trainer.domain import RolloutTrainingResult
from xpstore.evaluation import TrialFailure, TrialResult
from xpstore.experience import ExperienceSet
from xpstore.model import Frozen


class Scores(Frozen):
    """Scored trials and those that could not be scored, which count as neither passed nor failed."""

    results: tuple[TrialResult, ...] = ()
    failures: tuple[TrialFailure, ...] = ()

    @property
    def cases(self) -> int:
        """How many cases were tried."""
        return len({r.case for r in self.results} | {f.case for f in self.failures})

    @property
    def n(self) -> int:
        """How many trials were scored."""
        return len(self.results)

    @property
    def passed(self) -> int:
        """How many trials passed."""
        return sum(result.passed for result in self.results)

    @property
    def accuracy(self) -> float | None:
        """Share of the scored trials that passed; None where none was scored."""
        return self.passed / self.n if self.n else None

    @property
    def average_score(self) -> float | None:
        """Mean score of the scored trials; None where none was scored."""
        return sum(result.score for result in self.results) / self.n if self.n else None


class PipelineEvaluationResult(Scores):
    """How a policy did on cases."""

    policy_snapshot_id: str


class TrainEpochResult(Scores):
    """What one pass over the training cases did."""

    epoch: int
    changed: bool = False
    """Whether the policy is another one than the one that the rollouts ran under."""
    rollouts: int = 0
    """Trials that gave a rollout, scored or not."""
    taken_up: int = 0
    """Rollouts that an earlier, interrupted attempt at the same run had recorded; they were not run again."""
    left: int = 0
    """Rollouts on record that were not studied: more than one run studies (share.py)."""
    training: tuple[RolloutTrainingResult, ...] = ()
    """One per batch that had rollouts."""

    def plus(self, batch: TrainEpochResult) -> TrainEpochResult:
        """Return the epoch with one more batch."""
        return self.model_copy(
            update={
                "results": self.results + batch.results,
                "failures": self.failures + batch.failures,
                "changed": self.changed or batch.changed,
                "rollouts": self.rollouts + batch.rollouts,
                "taken_up": self.taken_up + batch.taken_up,
                "left": self.left + batch.left,
                "training": self.training + batch.training,
            }
        )

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits of the epoch, oldest first."""
        return tuple(commit for result in self.training for commit in result.apply_result.commits)

    @property
    def errors(self) -> int:
        """How many trials gave no rollout, rollouts no lesson for an exception, updates were refused."""
        learning = sum(len(t.failures) + len(t.apply_result.errors) for t in self.training)
        return len(self.failures) + learning


class PipelineResult(Frozen):
    """What a training run did."""

    policy_set: ExperienceSet
    """The policy after it."""
    epochs: tuple[TrainEpochResult, ...] = ()
    stopped: str = ""
    """Why it ended before its last epoch; empty = it did not."""
