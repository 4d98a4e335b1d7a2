"""tau2-bench as a service: cases of its domains, rollouts by `Tau2RolloutExecutor` (RFC §15)."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from trainer.context import ExecutionContext
from trainer.environment import code_digest
from trainer.environments.tau2 import guard
from trainer.environments.tau2.executor import Tau2RolloutExecutor
from trainer.environments.tau2.settings import DOMAINS, settings_of
from trainer.environments.tau2.tasks import TRAIN, folder_of
from xpstore.errors import UsageError
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import Case, Rollout
    from trainer.env_kit.runtime import CaseQuery, RolloutRequest
    from trainer.environments.tau2.settings import Tau2Settings
    from trainer.environments.tau2.tasks import TaskSet

DATASET = "tau2"
LABELS = "expected_actions"
"""The filter that asks for the training label."""
DECIDING = (
    "trainer.asking.quoting",
    "trainer.domain",
    "trainer.environments.tau2",
    "trainer.rubric",
    "xpstore.serving",
)
"""Modules and packages that decide a score, besides tau2 itself."""


class Tau2Runtime:
    """EnvironmentRuntime: see `trainer.env_kit.runtime`."""

    name = "tau2"

    def __init__(self, settings: Tau2Settings) -> None:
        guard.check_here()
        if settings.data and not any(folder_of(settings.data, domain) for domain in DOMAINS):
            raise UsageError(
                f"there are no tasks in {settings.data}",
                hint="DIR/airline/tasks.json, or as tau2 lays it out",
            )
        from trainer.environments.tau2 import library, simulation  # noqa: PLC0415  # seconds, 250 MB, and only here

        self.settings = settings
        self._library = library
        self._sets: dict[str, TaskSet] = {}
        self._loading = threading.Lock()
        self._executor = Tau2RolloutExecutor(
            settings, self.tasks, lambda domain: library.policy_text(domain, settings), simulation
        )

    @property
    def version(self) -> str:
        """Releases, settings that change scores, and digests of data and code."""
        digests = content_id([{**self.tasks(d).provenance} for d in self._library.domains()])[:12]
        parts = (self._library.distribution(), self.settings.version, f"data={digests}")
        return " ".join((*parts, f"code={code_digest(*DECIDING)}"))

    @property
    def agent(self) -> str:
        """Who acts: tau2's agent, which reads pages."""
        return "tau2-agent/1"

    @property
    def model(self) -> str:
        """The agent's model."""
        return self.settings.agent.model

    @property
    def simulator(self) -> str:
        """The models of the simulated user and of the judge."""
        user, judge = self.settings.user.model, self.settings.judge.model
        return user if judge == user else f"{user} judge={judge}"

    def tasks(self, domain: str) -> TaskSet:
        """Return a domain's tasks, read once. Raises UsageError."""
        with self._loading:
            if domain not in self._sets:
                self._sets[domain] = self._library.load_tasks(domain, self.settings)
            return self._sets[domain]

    def cases(self, query: CaseQuery) -> Sequence[Case]:
        """Return the cases of a split; see `trainer.environments.tau2.tasks` for what is in them."""
        if query.dataset not in {"", DATASET}:
            raise UsageError(f"there is no dataset {query.dataset!r} here", hint=f"it is {DATASET!r}")
        if not query.domain:
            raise UsageError("no domain is named", hint=f"one of {', '.join(DOMAINS)}")
        labels = query.filters.get(LABELS, False)
        if unknown := query.filters.keys() - {LABELS}:
            raise UsageError(f"there is no filter {min(unknown)!r}", hint=f"only {LABELS}, true or false")
        if labels and not self.settings.train_labels:
            raise UsageError(
                "this service gives no labels", hint='they are for training only: set train_labels = "yes"'
            )
        split = query.split or TRAIN
        return self.tasks(query.domain).cases(split, labels=labels is True)

    async def run(self, request: RolloutRequest) -> Rollout:
        """Run one simulation. Raises InfrastructureError where it says nothing of the agent."""
        context = ExecutionContext(
            policy_snapshot_id=request.snapshot_id,
            seed=request.seed,
            training=request.training,
            metadata={**request.metadata, "options": dict(request.options)},
        )
        rollouts = await self._executor.execute([request.case], request.experiences, context)
        return rollouts[0]


def make(options: Mapping[str, JsonValue], environ: Mapping[str, str]) -> Tau2Runtime:
    """Return the service's runtime; what is given is as `settings_of` says.

    Raises UsageError where tau2 is not installed, TypeError and ValueError for options.
    """
    return Tau2Runtime(settings_of(options, environ))


def make_runtime(**options: JsonValue) -> Tau2Runtime:
    """Return the runtime of `xp env serve tau2 --option NAME=VALUE`; see `make`.

    A service is started by its name alone: so this is where this process's keys come in.
    """
    return make(options, os.environ)
