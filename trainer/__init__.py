"""The training pipeline of the RFC. Public names are imported when they are first used."""

from __future__ import annotations

from importlib import import_module

# RFC name → the module that has it. The values that the store must version live in xpstore.
_HOME = {
    "ApplyContext": "trainer.context",
    "BatchPolicyTrainer": "trainer.components.policy_trainer",
    "Case": "trainer.domain",
    "CaseLoader": "trainer.interfaces",
    "CommitSnapshotter": "trainer.components.snapshotter",
    "ContentHashPolicySnapshotter": "trainer.components.snapshotter",
    "CriterionResult": "trainer.domain",
    "DryRunPolicyUpdater": "trainer.components.policy_updater",
    "ExecutionContext": "trainer.context",
    "Environment": "trainer.environment",
    "Experience": "xpstore.experience",
    "ExperienceGradientContext": "trainer.context",
    "ExperienceGradientEstimator": "trainer.components.gradient_estimator",
    "ExperienceSet": "xpstore.experience",
    "ExperienceSetLoader": "trainer.components.memory_store",
    "GitPolicyUpdater": "trainer.components.policy_updater",
    "GradientEstimator": "trainer.interfaces",
    "HttpSessionClient": "trainer.remote.session_client",
    "LLMAgentRolloutExecutor": "trainer.components.rollout_executor",
    "ListCaseLoader": "trainer.components.case_loader",
    "MemoryFile": "xpstore.experience",
    "MemoryFilePolicyUpdater": "trainer.components.policy_updater",
    "Message": "trainer.domain",
    "OfflinePolicyOptimizationPipeline": "trainer.pipeline",
    "PatchMergeContextProvider": "trainer.patch_merge",
    "PatchMergePatch": "trainer.patch_merge",
    "PatchMergePolicyOptimizer": "trainer.components.policy_optimizer",
    "PatchMergePolicyOptimizerContext": "trainer.context",
    "PatchSemanticGradient": "xpstore.gradient",
    "PipelineContext": "trainer.context",
    "PipelineEvaluationResult": "trainer.results",
    "PipelineResult": "trainer.results",
    "PolicyApplyResult": "xpstore.plan",
    "PolicyOptimizer": "trainer.interfaces",
    "PolicyPlanItem": "xpstore.plan",
    "PolicySnapshotter": "trainer.interfaces",
    "PolicyTrainer": "trainer.interfaces",
    "PolicyTrainingEngine": "trainer.engine",
    "PolicyUpdatePlan": "xpstore.plan",
    "PolicyUpdater": "trainer.interfaces",
    "RemoteCaseLoader": "trainer.components.remote",
    "RemoteRolloutExecutor": "trainer.components.remote",
    "Rollout": "trainer.domain",
    "RolloutAnalysis": "trainer.domain",
    "RolloutAnalyzer": "trainer.interfaces",
    "RolloutEvaluator": "trainer.interfaces",
    "RolloutExecutor": "trainer.interfaces",
    "RolloutTrainingResult": "trainer.domain",
    "Rubric": "trainer.domain",
    "RubricCriterion": "trainer.domain",
    "RubricEvaluation": "trainer.domain",
    "RubricJudge": "trainer.llm_learner.judge",
    "SemanticGradient": "xpstore.gradient",
    "SessionCommitPolicyTrainer": "trainer.components.session_commit",
    "SingleTurnLLMRolloutExecutor": "trainer.components.rollout_executor",
    "StreamingBatcher": "trainer.batcher",
    "StreamingPolicyTrainer": "trainer.components.streaming_trainer",
    "StreamingPolicyTrainerConfig": "trainer.components.streaming_trainer",
    "TextPart": "trainer.domain",
    "ToolPart": "trainer.domain",
    "TrainEpochResult": "trainer.results",
    "Trajectory": "xpstore.trajectory",
    "TrajectoryAnalyzerContext": "trainer.context",
    "TrajectoryRolloutAnalyzer": "trainer.components.trajectory_analyzer",
    "get_streaming_policy_trainer": "trainer.streaming",
    "make_streaming_policy_trainer_key": "trainer.streaming",
    "train_files": "trainer.train",
    "train_from_rollouts": "trainer.components.policy_trainer",
}

__all__ = sorted(_HOME)  # noqa: PLE0605  # one list of names, not two


def __getattr__(name: str) -> object:
    """Import a public name when it is asked for: `import trainer` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'trainer' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return list(_HOME)
