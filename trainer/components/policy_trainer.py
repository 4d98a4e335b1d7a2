"""BatchPolicyTrainer: learns from a list of rollouts at once (RFC §9.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import RolloutFailure, RolloutTrainingResult
from trainer.errors import CutOffError, RolloutError
from trainer.outcome import Outcome
from xpstore.plan import PolicyApplyResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.context import PipelineContext
    from trainer.domain import Received, Rollout, RolloutAnalysis
    from trainer.engine import PolicyTrainingEngine
    from trainer.interfaces import PolicyTrainer, TrainingJournal
    from xpstore.experience import ExperienceSet

HELD_BACK = "held back until the rest is answered"


class BatchPolicyTrainer:
    """Receive → analyze → estimate → plan → apply, once, for the whole batch."""

    def __init__(self, engine: PolicyTrainingEngine, journal: TrainingJournal) -> None:
        self._engine = engine
        self._journal = journal

    async def train_rollouts(
        self,
        rollouts: Sequence[Rollout],
        policy_set: ExperienceSet,
        context: PipelineContext,
        analyses: Sequence[RolloutAnalysis] | None = None,
    ) -> RolloutTrainingResult:
        """Learn from the rollouts. What one stage cannot handle is in `failures`.

        Edits are made to the policy as it is now, which may have moved on since the rollouts ran. Where the
        model behind the strategies went away meanwhile, nothing is planned and every rollout stays open: the
        next run asks only for the rest, and comes to what this one would have come to.
        """
        del policy_set
        learner = self._engine.learner
        received = await self._journal.receive(rollouts, learner, again=context.apply_context.again)
        done, failures = await self._analyses(received.fresh, analyses, context)
        await self._journal.analysed(done, learner)
        latest = await self._engine.reload()
        edits, missed = await self._engine.estimate(done, received.earlier, latest, context)
        everything = [*received.earlier, *done]
        try:
            planned = await self._engine.plan_and_apply(edits.gradients, everything, context)
        except CutOffError as error:
            return _held(received, done, [*failures, *missed], error, latest)
        outcome = Outcome.of(done, edits, missed, planned)
        await self._journal.nothing(outcome.nothing, learner)
        return RolloutTrainingResult(
            analyses=tuple(done),
            gradients=edits.gradients,
            plans=planned.result.plans,
            apply_result=planned.result,
            failures=(*received.refused, *failures, *missed),
            nothing=outcome.waiting | outcome.nothing,
            already=received.already,
            left=received.left,
            metadata=outcome.metadata,
        )

    async def _analyses(
        self,
        fresh: Sequence[Rollout],
        given: Sequence[RolloutAnalysis] | None,
        context: PipelineContext,
    ) -> tuple[list[RolloutAnalysis], list[RolloutFailure]]:
        """Take the analyses that were handed in; make the others."""
        have = {a.rollout.id: a for a in given or ()}
        made, failures = await self._engine.analyze([r for r in fresh if r.id not in have], context)
        have.update((a.rollout.id, a) for a in made)
        return [have[r.id] for r in fresh if r.id in have], failures


async def train_from_rollouts(
    trainer: PolicyTrainer,
    rollouts: Sequence[Rollout],
    policy_set: ExperienceSet,
    context: PipelineContext,
) -> RolloutTrainingResult:
    """Learn from rollouts that something else produced (RFC §8.3). Raises RolloutError without a case."""
    for number, rollout in enumerate(rollouts, 1):
        if not rollout.case.name:
            raise RolloutError(
                f"rollout {number} ({rollout.id}) has no case",
                hint="give every rollout a `case` with a name: it is what trials are compared by",
            )
    if not rollouts:
        return RolloutTrainingResult(apply_result=PolicyApplyResult(updated_policy_set=policy_set))
    return await trainer.train_rollouts(rollouts, policy_set, context)


def _held(
    received: Received,
    done: Sequence[RolloutAnalysis],
    failures: Sequence[RolloutFailure],
    error: CutOffError,
    latest: ExperienceSet,
) -> RolloutTrainingResult:
    """Return what was learned where nothing was planned: nothing, and all is still to do."""
    failed = {f.rollout for f in failures}
    why = f"{HELD_BACK}: {error.message}"
    held = [
        RolloutFailure(rollout=a.rollout.id, case=a.rollout.case.name, stage="estimate", error=why)
        for a in done
        if a.rollout.id not in failed
    ]
    return RolloutTrainingResult(
        analyses=tuple(done),
        apply_result=PolicyApplyResult(updated_policy_set=latest),
        failures=(*received.refused, *failures, *held),
        already=received.already,
        left=received.left,
    )
