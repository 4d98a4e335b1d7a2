"""Open a cluster for a store."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from trainer.cluster import work
from trainer.cluster.door import Cluster
from trainer.cluster.placement import Placement
from xpstore import pinned, remote

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from trainer.cluster.work import Place
    from trainer.store_door import StoreDoor
    from xpstore.location import Location


@asynccontextmanager
async def placement(
    door: StoreDoor, remote_name: str = "", *, address: str = "", processors: int | None = None
) -> AsyncIterator[Placement]:
    """Connect to a cluster whose workers reach the store by a git remote, by its name.

    Without one they read the repository where it is: on this machine, or on a disk that all of them share.
    `address` and `processors` as for Cluster. Raises UsageError for an unknown remote, RepositoryError where
    it does not take main or cannot be reached, RefusedError where the cluster cannot be used.
    """
    place, world, commit = await door.call(lambda location: _described(location, remote_name))
    cluster = Cluster(address, processors=processors)
    made = Placement(cluster, door, place, world, remote_name, {})
    try:
        await made.reachable(commit)
        async with cluster:
            yield made
    finally:
        await made.release()


def _described(location: Location, name: str) -> tuple[Place, str, str]:
    config, repo = location.config, location.repo
    url = str(repo.place.resolve())
    if name:
        url = pinned.address(repo, remote.choose(repo, config.main, name))
    world = work.world_text(config.environment, config.llm)
    return work.Place(url, location.prefix, config), world, location.resolve(config.main)
