"""The contexts that a pipeline hands down (RFC §7). Each component names what it takes."""

from __future__ import annotations

from pydantic import JsonValue

from xpstore.model import Frozen
from xpstore.settings import DuplicateSettings


class ExecutionContext(Frozen):
    """What an executor is told about one trial; it writes `policy_snapshot_id` into the rollout."""

    policy_snapshot_id: str
    """The commit (or hash) of the policy that the agent reads."""
    seed: int = 0
    """Of this trial: equal seed, case and policy give an equal rollout, where the environment can."""
    training: bool = False
    """Whether the rollout is there to be learned from: the agent may explore."""
    metadata: dict[str, JsonValue] = {}


class UndoneStatement(Frozen):
    """A statement that history had and the branch no longer has."""

    experience: str
    key: str
    rollouts: frozenset[str] = frozenset()
    """The rollouts that the removed plans cited: others must support the statement by themselves."""


class LearnedHistory(Frozen):
    """What a branch's history says about a learner's statements."""

    learner_statements: dict[str, frozenset[str]] = {}
    """Experience name → keys of the statements that this learner wrote; all others are people's."""
    undone: tuple[UndoneStatement, ...] = ()
    """What was reverted or deleted by hand and must not come back on the same evidence."""


class TrajectoryAnalyzerContext(Frozen):
    """For `TrajectoryRolloutAnalyzer`."""

    run_id: str = ""
    parallel: int | None = None
    """How many rollouts are analysed at once; None = as the pipeline says."""
    fallback: bool = True
    """Whether a rollout that nobody scored counts as passed where there is something to note (RFC §6.4)."""


class ExperienceGradientContext(Frozen):
    """For `ExperienceGradientEstimator`."""

    run_id: str = ""
    parallel: int = 8
    """How many groups are estimated at once."""
    history: LearnedHistory = LearnedHistory()


class PatchMergePolicyOptimizerContext(Frozen):
    """For `PatchMergePolicyOptimizer`."""

    run_id: str = ""
    duplicates: DuplicateSettings = DuplicateSettings()
    """What to do about an edit that says what another page says."""


class ApplyContext(Frozen):
    """For the updaters."""

    run_id: str = ""
    branch: str = ""
    start: str = ""
    """Where the branch begins if it does not exist; empty = the store's main branch."""
    again: bool = False
    """A deliberate repetition: plans get ids of their own even if the same edits were planned before."""


class CaseLoadContext(Frozen):
    """For case loaders."""

    limit: int | None = None
    """At most so many cases, the first ones; None = all."""


class PipelineContext(Frozen):
    """Everything a training run needs to know besides its data."""

    case_load_context: CaseLoadContext = CaseLoadContext()
    analysis_context: TrajectoryAnalyzerContext = TrajectoryAnalyzerContext()
    gradient_context: ExperienceGradientContext = ExperienceGradientContext()
    optimization_context: PatchMergePolicyOptimizerContext = PatchMergePolicyOptimizerContext()
    apply_context: ApplyContext = ApplyContext()
    execution_metadata: dict[str, JsonValue] = {}
    """Handed to the executor with every trial."""
    max_epochs: int = 1
    trials: int = 1
    """How often each case is tried in an epoch, or in an evaluation that does not say."""
    seed: int = 0
    """What the seeds of the trials are derived from (rollouts.py)."""
    time_limit: float | None = None
    """Seconds that one rollout may take; None = no limit."""
    parallel: int = 8
    """How many rollouts are executed at once; analysed, too, where the analysis does not say."""
