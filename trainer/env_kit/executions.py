"""Rollouts that clients have asked for: queued, run in parallel, ended by a limit or by the client, and kept.

Everything here happens in one event loop. What a runtime raises or returns is the state of its execution.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import isawaitable
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from trainer.domain import Rollout
from trainer.env_kit.foreign import reason, where
from trainer.remote.protocol import CANCELLED, COMPLETED, FAILED, RUNNING, Execution
from trainer.web.problem import WebError
from xpstore.errors import XpError
from xpstore.hashing import canonical_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping
    from types import TracebackType

    from pydantic import JsonValue

    from trainer.env_kit.aside import Aside
    from trainer.env_kit.runtime import EnvironmentRuntime, RolloutRequest
    from trainer.env_kit.store import ExecutionStore
    from trainer.remote.protocol import CaseJson

trace = logging.getLogger("xpstore.trace.env")

QUEUE = 1_000
PARALLEL = 8
TIME_LIMIT = 1_800.0
UNKEPT = 1_000
"""Failures to keep a rollout that are remembered: the disk has no room for them."""
LETTING_GO = 5.0
"""Seconds that a rollout which is cancelled may take to end, before the client is answered."""
LEAST_WAIT, MOST_WAIT = 1, 30
"""Seconds that a client is told to wait where the queue is full."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service takes on."""

    parallel: int = PARALLEL
    """Rollouts that run at once."""
    queue: int = QUEUE
    """Rollouts that wait, beside those that run; one more is a 429."""
    time_limit: float | None = TIME_LIMIT
    """Seconds of one rollout, from when it starts to run."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """Who asked, and under which key; `digest` tells what for."""

    caller: str
    key: str
    """"" = none: every submission is another rollout."""
    digest: str
    case: CaseJson
    """The case as it was sent, which comes back in the rollout."""


@dataclass(slots=True)
class _Live:
    """An execution that has not ended."""

    execution: Execution
    submitted: Submitted
    task: asyncio.Task[None] | None = None
    is_taken_back: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Executions:
    """The executions of a service, as long as the context lasts; what has not ended then is forgotten."""

    def __init__(
        self, runtime: EnvironmentRuntime, store: ExecutionStore, limits: Limits, aside: Aside
    ) -> None:
        self._runtime = runtime
        self._store = store
        self._aside = aside
        self._limits = limits
        self._live: dict[str, _Live] = {}
        self._by_key: dict[tuple[str, str], _Live] = {}
        self._unkept: OrderedDict[str, _Live] = OrderedDict()
        self._gate = asyncio.Semaphore(limits.parallel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = [live.task for live in self._live.values() if live.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def known(self, submitted: Submitted) -> Execution | None:
        """Return what was submitted before under this key; None where nothing was.

        Raises WebError (409) where that was another rollout.
        """
        if not submitted.key:
            return None
        live = self._by_key.get((submitted.caller, submitted.key))
        if live is not None:
            return _same(live.execution, live.submitted.digest, submitted)
        kept = await self._aside.call(self._store.by_key, submitted.caller, submitted.key)
        return None if kept is None else _same(*kept, submitted)

    def check_room(self) -> None:
        """Raise WebError (429) where the queue is full."""
        if len(self._live) >= self._limits.queue + self._limits.parallel:
            wait = min(max(len(self._live) // (10 * self._limits.parallel), LEAST_WAIT), MOST_WAIT)
            raise WebError(
                429,
                f"{len(self._live)} rollouts wait or run here; no more are taken now",
                headers={"Retry-After": str(wait)},
            )

    def submit(self, request: RolloutRequest, submitted: Submitted) -> Execution:
        """Begin a rollout that is not `known`. Raises as `check_room`."""
        self.check_room()
        now = time.time()
        execution = Execution(
            execution_id=f"rollout_exec_{token_hex(16)}",
            status=RUNNING,
            case_name=submitted.case.name,
            created_at=now,
            updated_at=now,
        )
        live = _Live(execution, submitted)
        self._live[execution.execution_id] = live
        if submitted.key:
            self._by_key[submitted.caller, submitted.key] = live
        live.task = asyncio.get_running_loop().create_task(self._work(live, request))
        return execution

    async def get(self, execution_id: str, caller: str) -> Execution:
        """Return an execution of a caller. Raises WebError (404)."""
        live = self._live.get(execution_id) or self._unkept.get(execution_id)
        if live is not None and live.submitted.caller == caller:
            return live.execution
        kept = await self._aside.call(self._store.get, execution_id, caller)
        if kept is None:
            raise WebError(
                404,
                "there is no such execution: it never was, or the service was started anew while it ran",
                hint="submit it again with the same Idempotency-Key",
            )
        return kept

    async def cancel(self, execution_id: str, caller: str) -> Execution:
        """End an execution and return it; one that has ended stays as it is. Raises WebError (404)."""
        live = self._live.get(execution_id)
        if live is not None and live.submitted.caller == caller:
            live.is_taken_back = True
            if live.task:
                live.task.cancel()
            with suppress(TimeoutError):  # of an environment that does not let go
                await asyncio.wait_for(live.ended.wait(), LETTING_GO)
        return await self.get(execution_id, caller)

    async def _work(self, live: _Live, request: RolloutRequest) -> None:
        try:
            outcome = await self._outcome(live, request)
        except asyncio.CancelledError:
            if not live.is_taken_back:  # the service ends: nobody is promised anything
                self._forget(live)
                raise
            outcome = {"status": CANCELLED, "error": "the client has taken it back"}
        ended = live.execution.model_copy(update={**outcome, "updated_at": time.time()})
        keeping = asyncio.ensure_future(self._aside.call(self._keep, live, ended))
        with suppress(asyncio.CancelledError):
            await asyncio.shield(keeping)
        live.execution = await keeping
        if live.execution is not ended:
            self._unkept[ended.execution_id] = live
            if len(self._unkept) > UNKEPT:
                self._unkept.popitem(last=False)
        self._forget(live)

    def _keep(self, live: _Live, ended: Execution) -> Execution:
        """Put an execution on disk. Where that fails, it has failed: it could not be had twice."""
        told = live.submitted
        try:
            self._store.put(ended, told.caller, told.key, told.digest)
        except XpError as error:
            trace.error("%s", error.message)
            why = "the service could not keep the rollout; its disk may be full"
            return ended.model_copy(update={"status": FAILED, "error": why, "rollout": None})
        return ended

    def _forget(self, live: _Live) -> None:
        self._live.pop(live.execution.execution_id, None)
        if live.submitted.key:
            self._by_key.pop((live.submitted.caller, live.submitted.key), None)
        live.ended.set()

    async def _outcome(self, live: _Live, request: RolloutRequest) -> Mapping[str, JsonValue]:
        """Return how a rollout ended. Raises CancelledError where this task is cancelled, nothing else."""
        seconds = self._limits.time_limit
        async with self._gate:
            limit = asyncio.timeout(seconds)
            try:
                async with limit:
                    rollout = await _running(self._runtime.run(request))
                return {"status": COMPLETED, "rollout": _checked(rollout, request, live.submitted.case)}
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task and task.cancelling():
                    raise
                return _failed("the environment cancelled itself")
            except BaseException as error:  # noqa: BLE001  # anybody's code, sys.exit() and all: it is data
                is_late = limit.expired() and not isinstance(error, XpError)
                trace.info("case %r failed: %s, at %s", request.case.name, reason(error), where(error))
                return _failed(f"no result within {seconds:g} s" if is_late else reason(error))


def _running(run: object) -> Awaitable[object]:
    if not isawaitable(run):
        raise TypeError("`run` of the environment has to be an `async def`")
    return run


def _failed(why: str) -> Mapping[str, JsonValue]:
    return {"status": FAILED, "error": why}


def _same(execution: Execution, digest: str, submitted: Submitted) -> Execution:
    if digest != submitted.digest:
        raise WebError(
            409, "this Idempotency-Key was used for another rollout", hint="use a new one for each"
        )
    return execution


def _checked(rollout: object, request: RolloutRequest, sent: CaseJson) -> JsonValue:
    """Return a rollout as it goes over the wire. Raises ValueError for what the contract forbids."""
    if not isinstance(rollout, Rollout):
        raise TypeError(f"the environment returned {type(rollout).__name__}, which is no Rollout")
    if rollout.case.name != request.case.name:
        raise ValueError(f"the environment returned a rollout of case {rollout.case.name!r}")
    if rollout.policy_snapshot_id not in {request.snapshot_id, ""}:
        raise ValueError(f"the environment returned a rollout under policy {rollout.policy_snapshot_id}")
    whole = rollout.model_copy(update={"policy_snapshot_id": request.snapshot_id, "case": sent.case()})
    value: JsonValue = whole.model_dump(mode="json")
    canonical_json(value)  # NaN in metadata
    return value
