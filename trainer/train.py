"""`xp train FILE…`: files of rollouts in, experience commits on a branch out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.assembly import LEARNER, offline_trainer
from trainer.components.memory_store import BranchPolicy
from trainer.components.policy_trainer import train_from_rollouts
from trainer.context import ApplyContext, PatchMergePolicyOptimizerContext, PipelineContext
from trainer.intake import take_in
from trainer.journal import GitJournal
from trainer.store_door import StoreDoor
from trainer.train_report import train_report
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from trainer.train_report import TrainReport


async def train_files(  # noqa: PLR0913  # the options of `xp train`
    paths: Sequence[Path],
    *,
    location: Path,
    store: str | None = None,
    branch: str | None = None,
    dry_run: bool = False,
    again: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> TrainReport:
    """Train the offline learner on files of rollouts. Raises XpError; nothing is half-written.

    Without `branch` the run has a branch of its own, `train/<run>`; the run id is a hash of what is trained,
    so the same files make the same branch.
    """
    async with StoreDoor(location, store) as door:
        prefix, config = await door.call(lambda found: (found.candidate_prefix, found.config))
        if branch:  # a name that cannot be is refused before anything is kept
            await door.call(lambda found: found.branch_ref(branch))
        intake = await take_in(paths, GitJournal(door, "", dry_run=dry_run), progress)
        run_id = content_id([sorted(intake.ids), LEARNER, again])[:8]
        target = ApplyContext(run_id=run_id, branch=branch or f"{prefix}{run_id}", again=again)
        context = PipelineContext(
            optimization_context=PatchMergePolicyOptimizerContext(
                run_id=run_id, duplicates=config.duplicates
            ),
            apply_context=target,
        )
        preview = config.limits if dry_run else None
        trainer = offline_trainer(door, target, preview=preview, progress=progress)
        policy_set = await BranchPolicy(door, target.branch).reload()
        result = await train_from_rollouts(trainer, intake.share.rollouts, policy_set, context)
    return train_report(
        result,
        target,
        dry_run=dry_run,
        rollouts=len(intake.ids),
        passed=intake.passed,
        left=len(intake.ids) - len(intake.share.rollouts),
        problems=tuple({"file": p.path, "line": p.line, "error": p.why} for p in intake.problems),
    )
