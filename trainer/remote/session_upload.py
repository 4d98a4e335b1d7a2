"""One rollout's way through a session service: create, add messages, commit, wait for the task (RFC §12).

Whatever gets lost on the way, nothing is sent twice: a session has the name of what it holds, and after a
call whose answer did not come, the service is asked what is there before the call is made again.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from pydantic import JsonValue

from trainer.remote.session_client import MOST_MESSAGES, CanRetry, fault_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from trainer.remote.session_client import SessionClient

WireMessage = dict[str, JsonValue]
"""A message as the service reads it."""
Object = dict[str, JsonValue]
MOST_CHARACTERS = 1_000_000
"""Of the texts of one call, where it has more than one message."""
MOST_SESSIONS = 20
"""Attempts to learn from one rollout, each in a session of its own, that may stand before this one."""
ENDED = frozenset({"completed", "failed", "cancelled"})
_OPTIONS: Object = {
    "memory_policy": {
        "memory_types": ["cases", "trajectories", "experiences"],
        "working_memory": {"enabled": False},
    }
}


class SessionError(Exception):
    """A rollout did not get through: at which call, and why. It is data, not the end of a run."""

    def __init__(self, stage: str, why: str) -> None:
        super().__init__(f"{stage}: {why}")
        self.stage = stage


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient an upload is; all in seconds but `attempts`."""

    timeout: float = 600.0
    """For everything from the session to the end of its task."""
    attempts: int = 5
    """Of one call."""
    first: float = 0.1
    """The first pause between two looks at a task, or two attempts; each is longer than the one before."""
    longest: float = 5.0
    longest_wait: float = 60.0
    """What a service may ask for with Retry-After; where it asks for more, it is not asked again."""

    def pauses(self, attempts: int | None = None) -> Iterator[float]:
        """Yield the pauses between attempts, without end where `attempts` is None."""
        longest = self.first
        for _ in count() if attempts is None else range(attempts - 1):
            yield random.uniform(longest / 2, longest)  # noqa: S311  # jitter, no secret
            longest = min(self.longest, longest * 1.6)


@dataclass(slots=True)
class Way:
    """How far one session got."""

    session_id: str
    stage: str = "create_session"
    is_earlier: bool = False
    """It was committed before this upload began."""
    is_spent: bool = False
    """It holds what it should not, or nobody knows what came of it."""
    task_id: str = ""
    archive_uri: str = ""
    trace_id: str = ""
    status: str = ""
    """Of the task, as last seen."""
    result: Object | None = None
    error: str = ""
    """What the service says about a task that failed."""


class SessionUpload:
    """Brings rollouts to a service; one value serves many at once."""

    def __init__(self, client: SessionClient, pace: Pace) -> None:
        self._client = client
        self._pace = pace

    async def run(self, name: str, messages: Sequence[WireMessage], *, again: bool = False) -> Way:
        """Return how the session ended. Raises SessionError where it did not, or not in time.

        `name` must be made of what the messages hold. A session of that name that the service has learned
        from counts, unless `again`. Where its task failed, the service is asked to try that again. A session
        that is of no use is left to itself, and followed by another one: it got messages twice, nobody knows
        its task, or that failed for good.
        """
        for number in range(1, MOST_SESSIONS + 1):
            way = Way(session_id=name if number == 1 else f"{name}-{number}")
            async with self._in_time(way):
                await self._walk(way, messages)
            if not way.is_spent and (not way.is_earlier or (way.status == "completed" and not again)):
                return way
        raise SessionError("create_session", f"{MOST_SESSIONS} sessions of this rollout are there already")

    @asynccontextmanager
    async def _in_time(self, way: Way) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._pace.timeout) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            task = f"; task {way.task_id} is {way.status or 'unknown'}" if way.task_id else ""
            why = f"not through after {self._pace.timeout:g} s{task}"
            raise SessionError(way.stage, why) from None

    async def _walk(self, way: Way, messages: Sequence[WireMessage]) -> None:
        there = 0
        if not await self._create(way):
            there, commits = await self._look(way)
            if commits:
                way.is_earlier = True
                task = await self._task_of(way)
                way.task_id = str(task["task_id"]) if task else ""
        if not way.is_earlier:
            way.is_spent = await self._add(way, messages, there) > len(messages)
            if not way.is_spent:
                await self._commit(way)
        if way.task_id:
            await self._wait(way)
            if way.is_earlier and way.status == "failed" and await self._retry(way):
                way.is_earlier = False
                await self._wait(way)
        else:
            way.is_spent = True

    async def _retry(self, way: Way) -> bool:
        """Say whether the service tries the task again: what it has of the rollout is then learned once."""
        client = self._client
        if not isinstance(client, CanRetry):
            return False
        way.stage = "retry_task"
        return await self._ask(way, lambda: client.retry_task(way.task_id)) is True

    async def _create(self, way: Way) -> bool:
        """Say whether the session is new."""
        way.stage = "create_session"
        create = self._client.create_session
        answer = await self._ask(way, lambda: create(way.session_id, dict(_OPTIONS)), there=False)
        return answer is not False

    async def _add(self, way: Way, messages: Sequence[WireMessage], there: int) -> int:
        """Put the messages there that are not; return how many there are then.

        That is more than there should be where a call that seemed lost went through after all.
        """
        while there < len(messages):
            way.stage = "batch_add_messages"
            batch = _batch(messages, there)
            before = there

            async def look(before: int = before) -> JsonValue:
                now, _ = await self._look(way)
                return {"message_count": now} if now > before else None

            def add(batch: list[WireMessage] = batch) -> Awaitable[JsonValue]:
                return self._client.batch_add_messages(way.session_id, batch)

            answer = _object(way, await self._ask(way, add, settled=look))
            there = _number(way, answer, "message_count")
            if there <= before:
                raise SessionError(way.stage, f"the session has {there} messages after {before} and more")
        return there

    async def _commit(self, way: Way) -> None:
        way.stage = "commit_session"
        answer = _object(
            way,
            await self._ask(
                way,
                lambda: self._client.commit_session(way.session_id, keep_recent_count=0),
                settled=lambda: self._task_of(way),
            ),
        )
        if not answer.get("task_id"):  # it was committed by a call whose answer got lost, or never
            answer = {**answer, **(await self._task_of(way) or {})}
        if not answer.get("task_id"):
            why = answer.get("reason") or answer.get("status") or "it names no task"
            raise SessionError(way.stage, f"the service has nothing to do: {why}")
        way.task_id = str(answer["task_id"])
        way.archive_uri = str(answer.get("archive_uri") or "")
        way.trace_id = str(answer.get("trace_id") or "")

    async def _wait(self, way: Way) -> None:
        """Look at the task until it has ended, ever more seldom."""
        way.stage = "get_task"
        for pause in self._pace.pauses():
            answer = await self._ask(way, lambda: self._client.get_task(way.task_id), without_end=True)
            if answer is None:
                raise SessionError(way.stage, f"the service no longer knows task {way.task_id}")
            task = _object(way, answer)
            status = task.get("status")
            if not isinstance(status, str):
                raise SessionError(way.stage, f"task {way.task_id} has no status")
            way.status = status
            if status in ENDED:
                result = task.get("result")
                way.result = result if isinstance(result, dict) else None
                way.error = str(task.get("error") or "")
                if way.result:
                    way.archive_uri = way.archive_uri or str(way.result.get("archive_uri") or "")
                return
            await asyncio.sleep(pause)

    async def _look(self, way: Way) -> tuple[int, int]:
        """Return how many messages wait in the session, and how often it was committed."""
        state = _object(way, await self._ask(way, lambda: self._client.get_session(way.session_id)))
        return _number(way, state, "message_count"), _number(way, state, "commit_count")

    async def _task_of(self, way: Way) -> Object | None:
        """Return the newest task of the session, where the service knows one."""
        answer = await self._ask(way, lambda: self._client.list_tasks(resource_id=way.session_id))
        if not isinstance(answer, list):
            raise SessionError(way.stage, "the service's list of tasks is none")
        tasks = [t for t in answer if isinstance(t, dict) and t.get("task_id") and _is_of(t, way.session_id)]
        return max(tasks, key=_created, default=None)

    async def _ask(
        self,
        way: Way,
        call: Callable[[], Awaitable[JsonValue]],
        *,
        settled: Callable[[], Awaitable[JsonValue]] | None = None,
        there: JsonValue = None,
        without_end: bool = False,
    ) -> JsonValue:
        """Return the answer to a call, made again where that can help. Raises SessionError.

        `settled` says, after an answer that did not come, what it would have been; None = make the call
        again. `there` is the answer where the service says that it is there already. `without_end`: as often
        as time allows.
        """
        pauses = self._pace.pauses(None if without_end else self._pace.attempts)
        while True:
            try:
                return await call()
            except Exception as error:  # noqa: BLE001  # clients of others: their faults are this rollout's
                fault = fault_of(error)
            if fault.kind == "there" and there is not None:
                return there
            wait = fault.retry_after or 0.0
            pause = next(pauses, None)
            if fault.kind != "again" or pause is None or wait > self._pace.longest_wait:
                raise SessionError(way.stage, fault.message)
            await asyncio.sleep(max(pause, wait))
            found = await settled() if settled else None
            if found is not None:
                return found


def _batch(messages: Sequence[WireMessage], start: int) -> list[WireMessage]:
    """Return the messages of the next call."""
    batch: list[WireMessage] = []
    size = 0
    for message in messages[start : start + MOST_MESSAGES]:
        size += _size(message)
        if batch and size > MOST_CHARACTERS:
            break
        batch.append(message)
    return batch


def _size(value: JsonValue) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_size, value))
    if isinstance(value, dict):
        return sum(len(key) + _size(item) for key, item in value.items())
    return 8


def _object(way: Way, answer: JsonValue) -> Object:
    if not isinstance(answer, dict):
        raise SessionError(way.stage, "the service's answer is no object")
    return answer


def _number(way: Way, answer: Object, key: str) -> int:
    value = answer.get(key)
    if not isinstance(value, int) or value < 0:
        raise SessionError(way.stage, f"the service's answer has no {key}")
    return value


def _is_of(task: Object, session_id: str) -> bool:
    return task.get("resource_id", session_id) == session_id


def _created(task: Object) -> float:
    value = task.get("created_at")
    return float(value) if isinstance(value, int | float) else 0.0
