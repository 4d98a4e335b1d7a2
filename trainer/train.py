"""`xp train`: files of rollouts in, experience commits on a branch out. The pipeline put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import JsonValue

from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.memory_store import BranchPolicy
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_trainer import BatchPolicyTrainer, train_from_rollouts
from trainer.components.policy_updater import DryRunPolicyUpdater, GitPolicyUpdater
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import ApplyContext, PatchMergePolicyOptimizerContext, PipelineContext
from trainer.domain import RolloutFailure
from trainer.engine import PolicyTrainingEngine
from trainer.intake import take_in
from trainer.journal import GitJournal
from trainer.offline import OfflineEditor, OfflineExtractor
from trainer.offline.merger import StatementMerger
from trainer.store_door import StoreDoor
from xpstore.experience import SERVED, Experience
from xpstore.hashing import content_id
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from trainer.domain import RolloutTrainingResult
    from trainer.intake import Intake
    from xpstore.plan import PolicyUpdatePlan


class PlanSummary(Frozen):
    """One plan of the run."""

    plan_id: str
    commit: str
    """Empty in a dry run."""
    subject: str
    items: tuple[str, ...]
    """Names of the experiences."""
    lessons: int
    """How many edits it joins."""
    unserved: dict[str, str] = {}
    """Experience → its status, where agents are not given it."""


class TrainReport(Frozen):
    """What a training run did; `xp train --json` prints it."""

    run_id: str
    branch: str
    dry_run: bool
    rollouts: int
    """Rollouts read, each once."""
    passed: int
    left: int = 0
    """Rollouts that are on record and were not studied: more than one run studies (share.py)."""
    already: tuple[str, ...] = ()
    problems: tuple[dict[str, JsonValue], ...] = ()
    """Records that could not be read: file, line, error."""
    failures: tuple[RolloutFailure, ...] = ()
    nothing: dict[str, str] = {}
    """Rollout id → why it taught nothing."""
    refused: dict[str, str] = {}
    """Experience → why its edits could not be merged."""
    plans: tuple[PlanSummary, ...] = ()
    report: dict[str, JsonValue] = {}
    """The learner's own account: candidates, kept, dropped by reason."""

    @property
    def exit_code(self) -> int:
        """1 when every new rollout failed, or none was taken at all; else 0."""
        refused = {f.rollout for f in self.failures if f.stage == "receive"}
        failed = {f.rollout for f in self.failures} - refused
        fresh = self.rollouts - len(self.already) - len(refused)
        return 1 if (fresh and len(failed) >= fresh) or len(refused) == self.rollouts else 0


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
        prefix, limits = await door.call(lambda found: (found.candidate_prefix, found.config.limits))
        if branch:  # a name that cannot be is refused before anything is kept
            await door.call(lambda found: found.branch_ref(branch))
        intake = await take_in(paths, GitJournal(door, "", dry_run=dry_run), progress)
        run_id = content_id([sorted(intake.ids), OfflineEditor.learner, again])[:8]
        target = branch or f"{prefix}{run_id}"
        policy = BranchPolicy(door, target)
        engine = PolicyTrainingEngine(
            analyzer=TrajectoryRolloutAnalyzer(OfflineExtractor()),
            estimator=ExperienceGradientEstimator(OfflineEditor()),
            optimizer=PatchMergePolicyOptimizer(StatementMerger()),
            updater=DryRunPolicyUpdater(limits) if dry_run else GitPolicyUpdater(door),
            policy=policy,
            progress=progress,
        )
        trainer = BatchPolicyTrainer(engine, GitJournal(door, target, dry_run=dry_run))
        context = PipelineContext(
            optimization_context=PatchMergePolicyOptimizerContext(run_id=run_id),
            apply_context=ApplyContext(run_id=run_id, branch=target, again=again),
        )
        result = await train_from_rollouts(trainer, intake.share.rollouts, await policy.reload(), context)
    return _report(result, intake, run_id=run_id, branch=target, dry_run=dry_run)


def _report(
    result: RolloutTrainingResult, intake: Intake, *, run_id: str, branch: str, dry_run: bool
) -> TrainReport:
    commits = result.apply_result.commits or ("",) * len(result.plans)
    report, refused = result.metadata.get("report"), result.metadata.get("refused")
    return TrainReport(
        run_id=run_id,
        branch=branch,
        dry_run=dry_run,
        rollouts=len(intake.ids),
        passed=intake.passed,
        left=len(intake.ids) - len(intake.share.rollouts) + len(result.left),
        already=result.already,
        problems=tuple({"file": p.path, "line": p.line, "error": p.why} for p in intake.problems),
        failures=result.failures,
        nothing=result.nothing,
        refused={k: str(v) for k, v in refused.items()} if isinstance(refused, dict) else {},
        plans=tuple(_summary(p, c) for p, c in zip(result.plans, commits, strict=True)),
        report=report if isinstance(report, dict) else {},
    )


def _summary(plan: PolicyUpdatePlan, commit: str) -> PlanSummary:
    return PlanSummary(
        plan_id=plan.plan_id,
        commit=commit,
        subject=plan.subject,
        items=tuple(i.target_experience_name for i in plan.items),
        lessons=len(plan.gradients),
        unserved=_unserved(plan),
    )


def _unserved(plan: PolicyUpdatePlan) -> dict[str, str]:
    texts = {i.target_experience_name: i.after_content for i in plan.items}
    pages = [Experience(name=name, text=text) for name, text in texts.items() if text is not None]
    return {page.name: page.status for page in pages if page.status not in SERVED}
