"""A world and strategies whose work is done on a cluster, behind the same protocols."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from pydantic import TypeAdapter

from trainer.cluster import work
from trainer.domain import EditResult, Rollout
from trainer.offline.editor import OfflineEditor
from xpstore import pinned
from xpstore.errors import RepositoryError
from xpstore.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer.cluster.work import Answer, Place
    from trainer.context import ExecutionContext, ExperienceGradientContext
    from trainer.domain import Case, RolloutAnalysis, RubricEvaluation
    from trainer.environment import Environment, World
    from trainer.interfaces import GroupScope, RolloutExecutor
    from trainer.store_door import StoreDoor
    from trainer.strategies import Strategies
    from xpstore.experience import ExperienceSet
    from xpstore.location import Location

_NOTES = TypeAdapter(tuple[Trajectory, ...])


class Cluster(Protocol):
    """Where work is done."""

    async def call(self, work: Callable[..., Answer], *arguments: object) -> str:
        """Return what a function of `work.py` answers. Raises the XpError that it met, and ComponentError."""
        ...


@dataclass(frozen=True, slots=True)
class Placement:
    """A cluster, and how its workers reach the store."""

    cluster: Cluster
    door: StoreDoor
    place: Place
    world_text: str
    remote: str
    """The git remote that pinned commits are held by; "" = workers read the repository itself."""
    held: dict[str, asyncio.Future[str]]
    """Commits that workers may fetch, or soon may, and the refs that hold them."""

    def world(self, world: World) -> World:
        """Return the world with agents that work on the cluster. Its scores and its key are the same."""
        return replace(world, environment=_Elsewhere(world.environment, self))

    def strategies(self, strategies: Strategies) -> Strategies:
        """Return the strategies with notes and edits made on the cluster.

        Those of a model stay here: they wait for an endpoint, with one account, budget and recording.
        """
        if strategies.model is not None:
            return strategies
        return replace(strategies, extractor=_Extractor(self.cluster), editor=_Editor(self.cluster))

    async def reachable(self, commit: str) -> None:
        """See to it that workers can fetch a commit; many may ask for the same one at once."""
        if not self.remote:
            return
        if commit not in self.held:
            self.held[commit] = asyncio.ensure_future(
                self.door.call(lambda at: pinned.hold(at.repo, self.remote, commit))
            )
        await asyncio.shield(self.held[commit])

    async def release(self) -> None:
        """Take the pinned commits away again; one that cannot be is left, and harms nobody."""
        for commit, holding in self.held.items():
            await asyncio.wait([holding])
            if holding.cancelled() or holding.exception():
                continue
            with suppress(RepositoryError):
                await self.door.call(partial(_release, self.remote, holding.result(), commit))


def _release(name: str, ref: str, commit: str, location: Location) -> None:
    pinned.release(location.repo, name, ref, commit)


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """An environment whose agents work on the cluster."""

    here: Environment
    placement: Placement

    @property
    def name(self) -> str:
        return self.here.name

    @property
    def agent(self) -> str:
        return self.here.agent

    @property
    def model(self) -> str:
        return self.here.model

    @property
    def simulator(self) -> str:
        return self.here.simulator

    @property
    def version(self) -> str:
        return self.here.version

    @property
    def code(self) -> str:
        return self.here.code

    def executor(self) -> RolloutExecutor:
        return RayRolloutExecutor(self.placement, self.code)


@dataclass(frozen=True, slots=True)
class RayRolloutExecutor:
    """Runs each case as a task of its own; the worker reads the policy at the context's commit."""

    placement: Placement
    code: str
    """That of the environment; see `work.play`."""

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        """Return one rollout per case, in order. Raises ComponentError for a worker that is lost twice."""
        await self.placement.reachable(policy_set.snapshot_id)
        told = context.model_dump_json()
        at = self.placement
        texts = await asyncio.gather(
            *(
                at.cluster.call(
                    work.play,
                    at.place,
                    at.world_text,
                    self.code,
                    policy_set.snapshot_id,
                    case.model_dump_json(),
                    told,
                )
                for case in cases
            )
        )
        return [Rollout.model_validate_json(text) for text in texts]


@dataclass(frozen=True, slots=True)
class _Extractor:
    cluster: Cluster

    async def extract(self, rollout: Rollout, evaluation: RubricEvaluation | None) -> list[Trajectory]:
        scored = evaluation.model_dump_json() if evaluation else ""
        text = await self.cluster.call(work.extract, rollout.model_dump_json(), scored)
        return list(_NOTES.validate_json(text))


@dataclass(frozen=True, slots=True)
class _Editor:
    cluster: Cluster

    @property
    def learner(self) -> str:
        return OfflineEditor.learner

    @property
    def scope(self) -> GroupScope:
        return OfflineEditor.scope

    async def edit(
        self,
        analyses: Sequence[RolloutAnalysis],
        experience_set: ExperienceSet,
        context: ExperienceGradientContext,
    ) -> EditResult:
        rows = json.dumps([a.model_dump(mode="json") for a in analyses])
        told = (experience_set.model_dump_json(), context.model_dump_json())
        return EditResult.model_validate_json(await self.cluster.call(work.edit, rows, *told))
