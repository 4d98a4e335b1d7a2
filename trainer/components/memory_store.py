"""ExperienceSetLoader: the policy from a store or from a plain directory (RFC §16), and the handles on it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from trainer.context import LearnedHistory, UndoneStatement
from xpstore.document import Document
from xpstore.errors import UsageError
from xpstore.experience import Experience, ExperienceSet
from xpstore.lease import WAIT, Lease, pauses
from xpstore.snapshot import snapshot
from xpstore.undone import History

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from trainer.store_door import StoreDoor
    from xpstore.location import Location


def load_directory(root: Path) -> ExperienceSet:
    """Read every `*.md` of a plain directory; a missing one is an empty policy.

    Raises UsageError for a file that cannot be read, and for a link: what it points to is not the policy's.
    """
    pages: list[Experience] = []
    for path in sorted(root.glob("*.md")) if root.is_dir() else []:
        if path.is_symlink():
            raise UsageError(f"{path} is a symbolic link", hint="copy the file there")
        try:
            pages.append(Experience(name=path.stem, text=path.read_bytes().decode()))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {path}: {error}", hint="experiences are UTF-8 text") from error
    return ExperienceSet(root_uri=str(root), policies=tuple(pages))


class ExperienceSetLoader:
    """Loads the policy at a ref of a store."""

    def __init__(self, door: StoreDoor) -> None:
        self._door = door

    async def load(self, ref: str, *, versions: bool = True) -> ExperienceSet:
        """Return the set at a branch, tag or commit. Raises NotFoundError."""
        return await self._door.call(lambda location: snapshot(location, ref, versions=versions))


class BranchPolicy:
    """PolicyHandle on a branch of a store; before the branch exists, on where it will start."""

    def __init__(self, door: StoreDoor, branch: str, start: str = "") -> None:
        self._door = door
        self._branch = branch
        self._start = start

    async def reload(self) -> ExperienceSet:
        """Return the policy at the branch's tip."""
        return await self._door.call(lambda location: snapshot(location, self._ref(location), versions=True))

    @asynccontextmanager
    async def lock(self, *, wait: float = WAIT) -> AsyncIterator[None]:
        """Hold the branch's lease, for `async with policy.lock(): latest = await policy.reload()`.

        RFC's `ExperienceSet.lock()`, between processes: planning and applying strictly one after the other.
        It is waited for without keeping the door busy. Raises RefusedError when `wait` seconds are over.
        """
        lease = await self._door.call(lambda location: Lease.of(location, self._branch))
        pause = pauses(wait)
        try:
            while not await self._door.call(lambda _: lease.take()):
                seconds = next(pause, None)
                if seconds is None:
                    raise lease.refusal(wait)
                await asyncio.sleep(seconds)
            yield
        finally:
            lease.release()

    async def learned(self, learner: str) -> LearnedHistory:
        """Return what the branch's history says about the learner's statements."""

        def read(location: Location) -> LearnedHistory:
            history = History.read(location, self._ref(location))
            return LearnedHistory(
                learner_statements=history.of_learner(learner),
                undone=tuple(
                    UndoneStatement(experience=u.experience, key=u.key, rollouts=u.rollouts)
                    for u in history.undone()
                ),
            )

        return await self._door.call(read)

    def _ref(self, location: Location) -> str:
        exists = location.tip_of(self._branch) is not None
        return self._branch if exists else (self._start or location.config.main)


class DirectoryPolicy:
    """PolicyHandle on a plain directory: without history, a statement with figures is a learner's."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def reload(self) -> ExperienceSet:
        """Return the directory as it is now."""
        return load_directory(self._root)

    async def learned(self, learner: str) -> LearnedHistory:
        """Return the statements that carry an evidence line."""
        del learner  # a file does not say which learner wrote it
        return _with_figures(load_directory(self._root))


class MemoryPolicy:
    """PolicyHandle on a set that is nowhere but in memory; its statements are told apart as a directory's."""

    def __init__(self, policy_set: ExperienceSet) -> None:
        self._policy_set = policy_set

    async def reload(self) -> ExperienceSet:
        """Return the set."""
        return self._policy_set

    async def learned(self, learner: str) -> LearnedHistory:
        """Return the statements that carry an evidence line."""
        del learner
        return _with_figures(self._policy_set)


def _with_figures(policy_set: ExperienceSet) -> LearnedHistory:
    return LearnedHistory(
        learner_statements={
            page.name: frozenset(
                s.key for s in Document.parse(page.text, page.uri).statements() if "\n  *Support" in s.text
            )
            for page in policy_set.policies
        }
    )
