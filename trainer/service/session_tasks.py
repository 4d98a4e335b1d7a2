"""The work on commits of sessions: in the background, a few at once, taken up again by the next start.

No task hangs: whatever happens to the work on one, it is completed, failed or cancelled, or the process has
ended and the next one takes it up.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from trainer.service.session_errors import StateError, UnknownError
from trainer.service.session_learning import failed
from trainer.service.session_store import OPEN
from trainer.service.session_views import effective_types
from xpstore.errors import RepositoryError, UsageError, XpError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from trainer.service.session_learning import CommitLearner, Learned
    from trainer.service.session_rows import Archive, Status, Task
    from trainer.service.session_store import SessionStore

trace = logging.getLogger("xpstore.trace.sessions")

PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds until work is tried again where the store of sessions says no: the first time, and at most."""
AT_ONCE = 64
"""As many commits are learned from at the same time; they share updates."""
ALL = 1 << 31
CANCELLED = "its session's task was cancelled"
PASSING = "retryable"
"""Key of a failed task's result: it may work another time; the next start tries."""
BROKEN = "the service failed at it; its log says why"


class SessionTasks:
    """The tasks of a store's sessions that this process works on."""

    def __init__(self, store: SessionStore, learner: CommitLearner) -> None:
        self._store = store
        self._learner = learner
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._works: dict[str, asyncio.Task[None]] = {}
        self._begun: set[str] = set()
        self._is_closing = False

    async def start(self) -> int:
        """Take up what another process has left undone, and once what failed for a reason that may be gone.

        Return how many tasks.
        """
        failures = await self._store.tasks(status=("failed",), limit=ALL)
        again = [t for t in failures if t.result and t.result.get(PASSING)]
        for task in again:
            await self._store.move(task.id, ("failed",), "pending")
        left = await self._store.tasks(status=OPEN, limit=ALL)
        for task in reversed(left):
            self.begin(task.id)
        return len(left)

    def begin(self, task: str) -> None:
        """Work on a task, unless that is being done already."""
        if task not in self._works:
            work = self._works[task] = asyncio.ensure_future(self._work(task))
            work.add_done_callback(lambda done: self._ended(task, done))

    async def wait(self, task: str) -> None:
        """Wait until nobody here works on a task."""
        while (work := self._works.get(task)) is not None:
            await asyncio.wait([work])
            self._ended(task, work)

    async def retry(self, task: Task) -> Task:
        """Try a failed task again; one that is not done is left to go on. Raises StateError: it is done."""
        if task.status in OPEN:
            self.begin(task.id)
            return task
        found = await self._store.move(task.id, ("failed",), "pending")
        if found.status not in OPEN:
            raise StateError(f"task {task.id} is {found.status}", hint="a task that failed can be retried")
        self.begin(task.id)
        return found

    async def cancel(self, task: Task) -> Task:
        """Stop a task; what it has taught stays. Raises StateError: it is done."""
        found = await self._store.move(task.id, ("pending", "running", "cancelling"), "cancelling")
        if found.status != "cancelling":
            raise StateError(f"task {task.id} is {found.status} already")
        work = self._works.get(task.id)
        if work is not None:
            work.cancel()
            await asyncio.wait([work])
            self._ended(task.id, work)
        self.begin(task.id)  # where it was too late to stop, or it was another process's, this ends it
        return await self._store.task(task.id)

    async def close(self) -> None:
        """Finish what was begun, leave the rest to the next start."""
        self._is_closing = True
        works = dict(self._works)
        for task, work in works.items():
            if task not in self._begun:
                work.cancel()
        if works:
            await asyncio.wait(works.values())

    def _ended(self, task: str, work: asyncio.Task[None]) -> None:
        if self._works.get(task) is work:
            del self._works[task]

    async def _work(self, task: str) -> None:
        """Work on a task until its end is on record; where the disk is full, that may need several tries."""
        pause = PAUSE
        while not await self._tried(task) and not self._is_closing:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _tried(self, task: str) -> bool:
        """Work on a task; return whether that came to an end that whoever asks is told."""
        async with self._gate:
            self._begun.add(task)
            try:
                await self._done(task)
            except RepositoryError as error:
                trace.warning("task %s is tried again: %s", task, error.message)
                return False
            finally:
                self._begun.discard(task)
        return True

    async def _done(self, task: str) -> None:
        try:
            found = await self._store.move(task, ("pending", "running"), "running")
        except UnknownError:  # it has gone with its session
            return
        state = found.status
        if state not in {"running", "cancelling"}:
            return
        status: Status
        try:
            archive = await self._store.archive_of(task)
            if state == "cancelling":
                learned, status, why = await self._learner.drop(archive, CANCELLED), "cancelled", None
            else:
                learned = await self._learner.learn(archive)
                why = _said(failed(learned)) if learned.failures else None
                status = "failed" if why else "completed"
            told = result_of(archive, learned) | ({PASSING: True} if why else {})
        except XpError as error:
            status, why = "failed", _said(error)
            told = {PASSING: not isinstance(error, UsageError)}  # what the session says does not change
        except Exception:  # noqa: BLE001  # a fault of this program must not leave somebody waiting
            trace.exception("task %s of session %s", task, found.session)
            status, why, told = "failed", BROKEN, {}
        await self._store.move(task, (state,), status, result=told or None, error=why)
        if told.get(PASSING):  # whoever runs the service can do something about it
            trace.warning("task %s of session %s failed: %s", task, found.session, why)


def _said(error: XpError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message


def result_of(archive: Archive, learned: Learned) -> dict[str, JsonValue]:
    """Return what a task's caller is told of what was learned."""
    kinds = effective_types(archive.settings)
    told = learned.as_json()
    why = told["why_nothing"]
    return {
        "memories_extracted": {"memory_write": sum(state.lessons for state in learned.rollouts)},
        "effective_memory_types": [*kinds],
        "agent_memory_skip_reason": why or None,
        "trace_id": archive.trace,
        **told,
    }
