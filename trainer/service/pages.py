"""The experiences that a service gives to agents: those at one ref, read whole and kept until it moves."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.store_door import StoreDoor
from xpstore import gitcli, layout
from xpstore.experience import SERVED, Experience
from xpstore.page_index import PageIndex
from xpstore.serving import readable
from xpstore.snapshot import SUFFIX, snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from xpstore.location import Location

_TIME = "\x01"
"""Before the time of a commit in git's answer: no path has it there, for it begins with the folder's name."""


@dataclass(frozen=True)
class Shelf:
    """The experiences at one commit that agents are given, by name, sorted."""

    commit: str
    pages: Mapping[str, Experience]
    changed: Mapping[str, int]
    """When the file of each was changed last, in seconds since 1970."""

    @cached_property
    def newest(self) -> int:
        """When any of them was changed last; 0 where there is none."""
        return max(self.changed.values(), default=0)


class ServedPages:
    """The experiences at a ref of a store ("" = its main branch), for readers of any number.

    It reads with a repository of its own, so that nobody waits for what is being learned.
    """

    def __init__(self, path: Path, store: str | None, ref: str = "") -> None:
        self._door = StoreDoor(path, store)
        self._ref = ref
        self._shelf: Shelf | None = None
        self._reading = asyncio.Lock()

    async def shelf(self) -> Shelf:
        """Return what is at the ref now. Raises NotFoundError where it is gone, RepositoryError."""
        async with self._reading:  # whoever comes while it is read wants the same
            known = self._shelf
            self._shelf = shelf = await self._door.call(lambda found: _read(found, self._ref, known))
            return shelf

    async def search(self, query: str, limit: int) -> tuple[str, list[tuple[Experience, float]]]:
        """Return the commit, and the experiences that fit a query with their scores, best first."""
        return await self._door.call(lambda found: _search(found, self._ref, query, limit))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._door.__aexit__(kind, error, trace)


def _read(found: Location, ref: str, known: Shelf | None) -> Shelf:
    commit = found.resolve(ref or found.main_ref)
    if known is not None and known.commit == commit:
        return known
    good, _ = readable(snapshot(found, commit, parsed=True))
    served = {page.name: page for page in good if page.status in SERVED}
    times = _changed(found, commit)
    return Shelf(commit, served, {name: times.get(name, 0) for name in served})


def _search(found: Location, ref: str, query: str, limit: int) -> tuple[str, list[tuple[Experience, float]]]:
    with PageIndex.at(found, ref or found.main_ref) as index:
        return index.commit, index.search(query, limit, given=True)


def _changed(found: Location, commit: str) -> dict[str, int]:
    """Return name → when a commit on the first-parent line changed the file last."""
    root = found.at(commit).in_tree(layout.EXPERIENCES)
    out = gitcli.run(
        found.repo.place,
        [
            *("log", "-z", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--no-ext-diff"),
            *(f"--format={_TIME}%ct", "--name-only", commit, "--", root),
        ],
    )
    times: dict[str, int] = {}
    now = 0
    for record in gitcli.records(out):
        text = record.strip("\n")
        if text.startswith(_TIME):
            now = int(text.removeprefix(_TIME))
        else:
            times.setdefault(text.removeprefix(f"{root}/").removesuffix(SUFFIX), now)
    return times
