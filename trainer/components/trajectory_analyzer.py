"""TrajectoryRolloutAnalyzer: settles the evaluation, then lets a strategy write the notes (RFC §6.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import RolloutAnalysis, RubricEvaluation
from trainer.errors import NothingToNoteError, UnscoredError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.context import TrajectoryAnalyzerContext
    from trainer.domain import Rollout
    from trainer.interfaces import RolloutEvaluator, TrajectoryExtractor
    from xpstore.trajectory import Trajectory


class TrajectoryRolloutAnalyzer:
    """Evaluation by priority: the rollout's own, the evaluator's, else "was there anything to note"."""

    def __init__(self, extractor: TrajectoryExtractor, evaluator: RolloutEvaluator | None = None) -> None:
        self._extractor = extractor
        self._evaluator = evaluator

    async def analyze(self, rollout: Rollout, context: TrajectoryAnalyzerContext) -> RolloutAnalysis:
        """Return evaluation and notes. The extractor sees the evaluation with its feedback.

        Raises UnscoredError where there is no evaluation, and the context rules the fallback out.
        """
        evaluation = rollout.evaluation
        source = "rollout"
        if evaluation is None and self._evaluator is not None:
            evaluation = await self._evaluator.evaluate(rollout)
            source = "evaluator"
        if evaluation is None and not context.fallback:
            raise UnscoredError("the rollout has no evaluation")
        nothing = "the analysis found nothing to note"
        try:
            trajectories = await self._extractor.extract(rollout, evaluation)
        except NothingToNoteError as error:
            trajectories, nothing = [], error.message
        if evaluation is None:
            evaluation, source = _fallback(trajectories), "fallback"
        return RolloutAnalysis(
            rollout=rollout,
            evaluation=evaluation,
            trajectories=tuple(trajectories),
            nothing="" if trajectories else nothing,
            metadata={"evaluation_source": source, "run_id": context.run_id},
        )


def _fallback(trajectories: Sequence[Trajectory]) -> RubricEvaluation:
    """RFC §6.4: without any score, a rollout with a trajectory counts as passed."""
    found = bool(trajectories)
    return RubricEvaluation(
        passed=found,
        score=1.0 if found else 0.0,
        feedback=() if found else ("no trajectory could be extracted",),
        metadata={"source": "fallback"},
    )
