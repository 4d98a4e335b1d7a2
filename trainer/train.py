"""`xp train FILE…`: files of rollouts in, experience commits on a branch out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.assembly import learner_of, learning, trainer_of
from trainer.components.memory_store import BranchPolicy
from trainer.components.policy_trainer import train_from_rollouts
from trainer.context import ApplyContext, PatchMergePolicyOptimizerContext, PipelineContext
from trainer.domain import RolloutTrainingResult
from trainer.importers import AS_FOUND
from trainer.intake import take_in
from trainer.journal import GitJournal
from trainer.model_estimate import estimate
from trainer.store_door import StoreDoor
from trainer.train_report import train_report
from xpstore.hashing import content_id
from xpstore.plan import PolicyApplyResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.domain import Rollout
    from trainer.importers import Problem, Reading
    from trainer.model_estimate import ModelEstimate
    from trainer.strategies import ModelChoice
    from trainer.train_report import TrainReport
    from xpstore.settings import LlmSettings


async def train_files(  # noqa: PLR0913  # the options of `xp train`
    paths: Sequence[Path],
    *,
    location: Path,
    store: str | None = None,
    branch: str | None = None,
    dry_run: bool = False,
    again: bool = False,
    choice: ModelChoice | None = None,
    reading: Reading = AS_FOUND,
    progress: Callable[[str, int, int], None] | None = None,
) -> TrainReport:
    """Train a learner on files of rollouts; without a `choice`, the one without a model. Raises XpError.

    Nothing is half-written. Without `branch` the run has a branch of its own, `train/<run>`; the run id is a
    hash of what is trained and who learns, so the same files make the same branch. A dry run asks no model:
    its report has an estimate of what it would be asked.
    """
    asked = None if dry_run else choice
    # a model that cannot be asked is an error before anything is kept, and where nothing would be
    async with StoreDoor(location, store) as door, learning(door, asked, again=again) as strategies:
        prefix, config = await door.call(lambda found: (found.candidate_prefix, found.config))
        learner = learner_of(config, choice)
        previewed = choice.askable(config) if choice and dry_run else None
        if branch:  # so is a name that cannot be
            await door.call(lambda found: found.branch_ref(branch))
        intake = await take_in(paths, GitJournal(door, "", dry_run=dry_run), progress, reading)
        run_id = content_id([sorted(intake.ids), learner, again])[:8]
        target = ApplyContext(run_id=run_id, branch=branch or f"{prefix}{run_id}", again=again)
        rollouts = intake.share.rollouts
        costs = None
        if previewed:
            result, costs = await _estimated(door, target, learner, previewed, rollouts)
        else:
            optimization = PatchMergePolicyOptimizerContext(run_id=run_id, duplicates=config.duplicates)
            context = PipelineContext(optimization_context=optimization, apply_context=target)
            preview = config.limits if dry_run else None
            trainer = trainer_of(door, target, strategies, preview=preview, progress=progress)
            policy_set = await BranchPolicy(door, target.branch).reload()
            result = await train_from_rollouts(trainer, rollouts, policy_set, strategies.tuned(context))
    return train_report(
        result,
        target,
        dry_run=dry_run,
        rollouts=len(intake.ids),
        passed=intake.passed,
        left=len(intake.ids) - len(rollouts),
        problems=_told(intake.problems),
        unscored=intake.unscored,
        remarks=_told(intake.remarks),
        model=strategies.model.use() if strategies.model else None,
        estimate=costs,
    )


def _told(problems: Sequence[Problem]) -> tuple[dict[str, JsonValue], ...]:
    return tuple({"file": p.path, "line": p.line, "error": p.why} for p in problems)


async def _estimated(
    door: StoreDoor, target: ApplyContext, learner: str, settings: LlmSettings, rollouts: Sequence[Rollout]
) -> tuple[RolloutTrainingResult, ModelEstimate]:
    """Return what is known before any model is asked, and what it would be asked."""
    journal = GitJournal(door, target.branch, dry_run=True)
    received = await journal.receive(rollouts, learner, again=target.again)
    policy_set = await BranchPolicy(door, target.branch).reload()
    result = RolloutTrainingResult(
        apply_result=PolicyApplyResult(updated_policy_set=policy_set),
        failures=received.refused,
        already=received.already,
        left=received.left,
    )
    return result, estimate(settings, received.fresh, policy_set)
