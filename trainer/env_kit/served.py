"""A runtime made of an installed environment: the same agent, tools and score, behind HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from trainer.context import ExecutionContext
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer.domain import Case, Rollout
    from trainer.env_kit.runtime import CaseQuery, RolloutRequest
    from trainer.environment import Environment


class ServedEnvironment:
    """EnvironmentRuntime of an environment. Its rollouts are those that it makes in process, bit by bit."""

    def __init__(
        self,
        environment: Environment,
        cases: Callable[[CaseQuery], Sequence[Case]],
        case_input: Sequence[str] = (),
    ) -> None:
        """`cases` as `EnvironmentRuntime.cases`; `case_input`: the fields of cases that it does not know."""
        self._environment = environment
        self._executor = environment.executor()
        self._cases = cases
        self.case_input = tuple(case_input)
        self.name = environment.name
        self.version = f"{environment.version} {environment.code}"
        self.agent = environment.agent
        self.model = environment.model
        self.simulator = environment.simulator

    def cases(self, query: CaseQuery) -> Sequence[Case]:
        """Return the cases of a slice."""
        return self._cases(query)

    async def run(self, request: RolloutRequest) -> Rollout:
        """Return the rollout. Raises UsageError for options: an environment has its own from its start."""
        if request.options:
            raise UsageError(f"{self.name} takes no options with a rollout, such as {min(request.options)!r}")
        context = ExecutionContext(
            policy_snapshot_id=request.snapshot_id,
            seed=request.seed,
            training=request.training,
            metadata=dict(request.metadata),
        )
        if self.model:  # it waits for its endpoint, in this loop
            rollouts = await self._executor.execute([request.case], request.experiences, context)
        else:
            rollouts = await asyncio.to_thread(self._worked, request, context)
        return rollouts[0]

    def _worked(self, request: RolloutRequest, context: ExecutionContext) -> list[Rollout]:
        return asyncio.run(self._executor.execute([request.case], request.experiences, context))
