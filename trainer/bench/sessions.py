"""Training by a service that learns from sessions (RFC §12): OpenViking's server, or `xp serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.components.memory_store import BranchPolicy
from trainer.components.session_commit import SessionCommitPolicyTrainer
from trainer.remote.client import JsonClient, origin_of
from trainer.remote.session_client import HttpSessionClient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer.context import ApplyContext, PipelineContext
    from trainer.domain import Rollout, RolloutAnalysis, RolloutTrainingResult
    from trainer.interfaces import PolicyHandle, PolicyTrainer
    from trainer.store_door import StoreDoor
    from xpstore.experience import ExperienceSet

LIVE = "live"
"""The candidate that `xp serve` commits to."""


def learner_name(url: str) -> str:
    """Return what a run's id has in place of a learner's name."""
    return f"session-commit {origin_of(url)}"


def session_trainer(
    url: str, branch: str, key: str = ""
) -> Callable[[StoreDoor, ApplyContext], PolicyTrainer]:
    """Return what makes the trainer. The policy is read from `branch` of the run's own store afterwards.

    So the service is to serve that store, such as `xp -C DIR/store serve`; "" is where it commits by itself.
    """

    def make(door: StoreDoor, target: ApplyContext) -> PolicyTrainer:
        prefix = target.branch.removesuffix(target.run_id)
        return _SessionTrainer(url, key, BranchPolicy(door, branch or f"{prefix}{LIVE}", target.start))

    return make


class _SessionTrainer:
    """A PolicyTrainer that connects for every batch."""

    def __init__(self, url: str, key: str, policy: PolicyHandle) -> None:
        self._url = url
        self._key = key
        self._policy = policy

    async def train_rollouts(
        self,
        rollouts: Sequence[Rollout],
        policy_set: ExperienceSet,
        context: PipelineContext,
        analyses: Sequence[RolloutAnalysis] | None = None,
    ) -> RolloutTrainingResult:
        """Let the service learn from the rollouts; see SessionCommitPolicyTrainer."""
        async with JsonClient(self._url, key=self._key, retries=0) as client:
            trainer = SessionCommitPolicyTrainer(HttpSessionClient(client), policy=self._policy)
            return await trainer.train_rollouts(rollouts, policy_set, context, analyses)
