"""Scores as people and programs read them: the lines of RFC §15.5, intervals, the difference.

    [baseline_eval] epoch=-1 cases=10 accuracy=20.00% passed=2/10 avg_reward=0.200000
    [train_epoch] epoch=0 cases=50 accuracy=18.00% passed=9/50 avg_reward=0.180000 commits=50 errors=0
    [final_eval] epoch=1 cases=10 accuracy=30.00% passed=3/10 avg_reward=0.300000

`cases` counts cases, `passed` counts trials: with several trials per case the accuracy is a share of trials.
Trials that could not be scored are in neither number. Where nothing was scored there is no accuracy: `n/a`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from trainer.model_use import ModelUse
from trainer.results import Scores
from trainer.train_report import TrainReport, train_report
from xpstore.evaluation import TrialFailure
from xpstore.interval import wilson
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.context import ApplyContext
    from trainer.evaluate import Measured
    from trainer.results import TrainEpochResult

BASELINE_EPOCH = -1


class CaseScore(Frozen):
    """How one case came out over its trials."""

    name: str
    passed: int
    n: int
    """Trials that were scored."""
    failures: int = 0
    """Trials that were not."""
    average_reward: float | None = None


class Stage(Frozen):
    """One line of a report with what is behind it."""

    stage: str
    epoch: int
    """-1 before training; the number of epochs after it."""
    cases: int
    n: int
    """Trials that were scored."""
    passed: int
    accuracy: float | None
    interval: tuple[float, float]
    """95 % Wilson interval of the accuracy, as fractions; trials count as independent."""
    average_reward: float | None
    failures: tuple[TrialFailure, ...] = ()
    """Trials that could not be scored: infrastructure, apart from the accuracy."""
    by_case: tuple[CaseScore, ...] = ()

    @property
    def line(self) -> str:
        """The line of RFC §15.5."""
        return f"[{self.stage}] epoch={self.epoch} {self.numbers}"

    @property
    def numbers(self) -> str:
        """What the line says of the trials."""
        accuracy = "n/a" if self.accuracy is None else f"{self.accuracy:.2%}"
        reward = "n/a" if self.average_reward is None else f"{self.average_reward:.6f}"
        return f"cases={self.cases} accuracy={accuracy} passed={self.passed}/{self.n} avg_reward={reward}"

    @property
    def remarks(self) -> list[str]:
        """What a reader of the line should know: the interval, what could not be scored."""
        low, high = self.interval
        remarks = [f"95% interval {low:.2%} to {high:.2%}, n={self.n}"] if self.n else []
        if self.failures:
            count = len(self.failures)
            trials = f"{count} trial" + ("" if count == 1 else "s")
            remarks.append(f"{trials} could not be scored; the accuracy is of the others")
        return remarks


class EvaluationStage(Stage):
    """An evaluation."""

    commit: str
    suite: str
    trials: int
    key: str
    """The id of the evaluation's key, the name of its file in the evidence branch."""
    reused: int = 0
    """How many of the scores were on record before."""

    @property
    def remarks(self) -> list[str]:
        """Also whether it was measured now."""
        if not self.reused:
            return super().remarks
        is_whole = self.reused == self.n and not self.failures
        return [*super().remarks, "reused" if is_whole else f"{self.reused} scores reused"]


class EpochStage(Stage):
    """A pass over the training cases."""

    commits: tuple[str, ...]
    errors: int
    changed: bool
    taken_up: int
    """Rollouts of this run that were on record before: an earlier attempt was interrupted."""
    left: int
    learned: TrainReport | None
    """What was learned; None where there was nothing to learn from."""

    @property
    def line(self) -> str:
        """The line of RFC §15.5, with commits and errors."""
        return f"{super().line} commits={len(self.commits)} errors={self.errors}"

    @property
    def remarks(self) -> list[str]:
        """Also what was taken up, and that nothing changed."""
        remarks = super().remarks
        if self.taken_up:
            remarks.append(f"{self.taken_up} rollouts of this run were on record and were taken up")
        if self.left:
            remarks.append(f"{self.left} on record and not studied: more than one run studies")
        if not self.changed:
            remarks.append("the policy did not change")
        return remarks


class LoopReport(Frozen):
    """What `xp train` without files did."""

    run_id: str
    branch: str
    environment: str
    agent: str
    baseline: EvaluationStage | None = None
    epochs: tuple[EpochStage, ...] = ()
    final: EvaluationStage | None = None
    model: ModelUse | None = None
    """What the model was asked that learned; None where none was."""
    delta: float | None = None
    """Final minus baseline accuracy, as a fraction."""
    stopped: str = ""
    """Why it ended before its last epoch."""

    @property
    def changed(self) -> bool:
        """Whether anything was learned."""
        return any(epoch.changed for epoch in self.epochs)

    @property
    def exit_code(self) -> int:
        """1 where an evaluation is not whole, or an epoch had no rollout to learn from; else 0."""
        evaluations = [stage for stage in (self.baseline, self.final) if stage]
        unmeasured = any(stage.failures or not stage.n for stage in evaluations)
        unrun = any(epoch.failures and epoch.learned is None for epoch in self.epochs)
        unread = any(epoch.learned and epoch.learned.exit_code for epoch in self.epochs)
        return 1 if unmeasured or unrun or unread else 0


def evaluation_stage(stage: str, epoch: int, measured: Measured) -> EvaluationStage:
    """Return the line of an evaluation."""
    record = measured.record
    return EvaluationStage(
        stage=stage,
        epoch=epoch,
        **_numbers(Scores(results=record.results, failures=record.failures)),
        commit=measured.commit,
        suite=record.key.suite,
        trials=record.key.trials,
        key=record.key.id,
        reused=measured.reused,
    )


def epoch_stage(done: TrainEpochResult, target: ApplyContext) -> EpochStage:
    """Return the line of an epoch whose cases came in one batch."""
    learned = [
        train_report(
            trained, target, rollouts=done.rollouts, passed=done.passed, left=done.left - len(trained.left)
        )
        for trained in done.training
    ]
    return EpochStage(
        stage="train_epoch",
        epoch=done.epoch,
        **_numbers(done),
        commits=done.commits,
        errors=done.errors,
        changed=done.changed,
        taken_up=done.taken_up,
        left=done.left,
        learned=learned[0] if learned else None,
    )


def delta_of(baseline: Stage | None, final: Stage | None) -> float | None:
    """Return final minus baseline accuracy; None where one of them has none."""
    if baseline is None or final is None or baseline.accuracy is None or final.accuracy is None:
        return None
    return final.accuracy - baseline.accuracy


def delta_lines(baseline: Stage, final: Stage) -> list[str]:
    """Return the last lines of RFC §15.5; none where one of the stages has no accuracy."""
    delta = delta_of(baseline, final)
    if delta is None:
        return []
    shares = [
        f"{name} accuracy: {stage.accuracy:.2%} ({stage.passed}/{stage.n})"
        for name, stage in (("baseline", baseline), ("final", final))
    ]
    return [*shares, f"accuracy delta: {100 * delta:+.2f}pp"]


class _Numbers(TypedDict):
    cases: int
    n: int
    passed: int
    accuracy: float | None
    interval: tuple[float, float]
    average_reward: float | None
    failures: tuple[TrialFailure, ...]
    by_case: tuple[CaseScore, ...]


def _numbers(scores: Scores) -> _Numbers:
    return {
        "cases": scores.cases,
        "n": scores.n,
        "passed": scores.passed,
        "accuracy": scores.accuracy,
        "interval": wilson(scores.passed, scores.n),
        "average_reward": scores.average_score,
        "failures": scores.failures,
        "by_case": tuple(_by_case(scores)),
    }


def _by_case(scores: Scores) -> Iterator[CaseScore]:
    """Yield the cases in the order in which they were tried first."""
    tried = {trial.case: trial.name for trial in scores.results}
    tried |= {trial.case: trial.name for trial in scores.failures}
    for case, name in tried.items():
        own = Scores(
            results=tuple(r for r in scores.results if r.case == case),
            failures=tuple(f for f in scores.failures if f.case == case),
        )
        yield CaseScore(
            name=name,
            passed=own.passed,
            n=own.n,
            failures=len(own.failures),
            average_reward=own.average_score,
        )
