"""RFC §17 on a git store: `python rfc_script.py STORE`, where the store has cases and an environment.

The policy, a pipeline of the RFC's parts, one call of `train`; then the scores before and after. What differs
from the RFC: the store takes the place of its file system, and every plan is a commit on a branch.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from trainer import (
    ApplyContext,
    CommitSnapshotter,
    ExperienceGradientContext,
    ExperienceGradientEstimator,
    ExperienceSetLoader,
    GitPolicyUpdater,
    ListCaseLoader,
    OfflinePolicyOptimizationPipeline,
    PatchMergePolicyOptimizer,
    PatchMergePolicyOptimizerContext,
    PipelineContext,
    TrajectoryAnalyzerContext,
    TrajectoryRolloutAnalyzer,
)
from trainer.environment import world_of
from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor
from trainer.offline.merger import StatementMerger
from trainer.store_door import StoreDoor
from trainer.suite import load_suites

RUN = "rfc-17"
BRANCH = f"train/{RUN}"


async def main(store: Path) -> None:
    """Train on the store's training cases; print the scores of the test cases before and after."""
    async with StoreDoor(store) as door:
        suites = await door.call(lambda location: load_suites(location, "main", "train", "test"))
        settings = await door.call(lambda location: location.config.environment)

        policy_set = await ExperienceSetLoader(door).load("main")

        pipeline = OfflinePolicyOptimizationPipeline(
            snapshotter=CommitSnapshotter(),
            rollout_executor=world_of(settings).environment.executor(),
            rollout_analyzer=TrajectoryRolloutAnalyzer(extractor=OfflineExtractor()),
            gradient_estimator=ExperienceGradientEstimator(editor=OfflineEditor()),
            policy_optimizer=PatchMergePolicyOptimizer(merger=StatementMerger()),
            policy_updater=GitPolicyUpdater(door),
        )
        context = PipelineContext(
            max_epochs=1,
            trials=4,
            analysis_context=TrajectoryAnalyzerContext(run_id=RUN),
            gradient_context=ExperienceGradientContext(run_id=RUN),
            optimization_context=PatchMergePolicyOptimizerContext(run_id=RUN),
            apply_context=ApplyContext(run_id=RUN, branch=BRANCH),
        )

        test_loader = ListCaseLoader(suites["test"])
        before = await pipeline.eval(test_loader, policy_set, context)
        result = await pipeline.train(
            case_loader=ListCaseLoader(suites["train"]), policy_set=policy_set, context=context
        )
        after = await pipeline.eval(test_loader, result.policy_set, context)

    commits = [commit for epoch in result.epochs for commit in epoch.commits]
    scores = f"before {before.passed}/{before.n}, after {after.passed}/{after.n}"
    sys.stdout.write("\n".join([f"{scores}, commits {len(commits)}", *commits, ""]))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
