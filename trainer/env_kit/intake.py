"""A submission, as it comes, becomes a rollout to run."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from trainer.env_kit.executions import Submitted
from trainer.env_kit.runtime import RolloutRequest
from trainer.remote.protocol import (
    CASE_ID,
    IDEMPOTENCY,
    MOST_KEY,
    OWN_KEYS,
    SEED,
    TRAINING,
    PolicySetJson,
)
from trainer.remote.values import experience_set
from trainer.web.problem import WebError
from xpstore.experience import ExperienceSet
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from pydantic import JsonValue

    from trainer.env_kit.aside import Aside
    from trainer.env_kit.cases import CaseBook
    from trainer.env_kit.executions import Executions
    from trainer.remote.protocol import ExecuteRequest, Execution

Reader = Callable[[str, str], ExperienceSet]
"""Takes `root_uri` and snapshot id, returns the experiences; called in a thread. Raises XpError."""
SETS = 16
"""Sets of experiences that are kept: all rollouts of a run have one, and a runtime reads it once."""


class Intake:
    """Takes submissions. Belongs to one event loop."""

    def __init__(self, cases: CaseBook, executions: Executions, reader: Reader | None, aside: Aside) -> None:
        self._cases = cases
        self._executions = executions
        self._reader = reader
        self._aside = aside
        self._sets: OrderedDict[str, ExperienceSet] = OrderedDict()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def take(self, asked: ExecuteRequest, key: str, caller: str) -> Execution:
        """Return the execution of a submission: a new one, or the one that its key has already.

        Raises UsageError and WebError: a case that is another one here, experiences that cannot be read, a
        key that was used for another rollout, a full queue.
        """
        key = key or _text(asked.execution_context.metadata.get(IDEMPOTENCY))
        if len(key) > MOST_KEY:
            raise WebError(400, f"the Idempotency-Key is longer than {MOST_KEY} characters")
        submitted = Submitted(caller, key, content_id(asked.model_dump(mode="json")), asked.case)
        if not key:
            return await self._submitted(asked, submitted)
        # two submissions under one key take turns: the second one finds what became of the first
        turn = self._turns.setdefault((caller, key), asyncio.Lock())
        async with turn:
            return await self._executions.known(submitted) or await self._submitted(asked, submitted)

    async def _submitted(self, asked: ExecuteRequest, submitted: Submitted) -> Execution:
        self._executions.check_room()  # before anything is made of it
        told = asked.execution_context.metadata
        seed = told.get(SEED)
        request = RolloutRequest(
            case=await self._cases.whole(asked.case, told.get(CASE_ID)),
            experiences=await self._experiences(asked),
            snapshot_id=asked.execution_context.policy_snapshot_id,
            seed=seed if isinstance(seed, int) else 0,
            training=told.get(TRAINING) is True,
            options=asked.options,
            metadata={name: value for name, value in told.items() if name not in OWN_KEYS},
        )
        return self._executions.submit(request, submitted)

    async def _experiences(self, asked: ExecuteRequest) -> ExperienceSet:
        sent, snapshot_id = asked.policy_set, asked.execution_context.policy_snapshot_id
        name = content_id([sent.model_dump(mode="json"), snapshot_id])
        if name in self._sets:
            self._sets.move_to_end(name)
            return self._sets[name]
        found = await self._found(sent, snapshot_id)
        self._sets[name] = found
        if len(self._sets) > SETS:
            self._sets.popitem(last=False)
        return found

    async def _found(self, sent: PolicySetJson, snapshot_id: str) -> ExperienceSet:
        """Return what was sent, or what stands at the snapshot where the reader reads."""
        if sent.is_pinned:
            return experience_set(sent, snapshot_id)
        if self._reader is None:
            raise WebError(
                400,
                "the submission has no experiences in it, and this service reads none elsewhere",
                hint='send policies, or metadata {"pinned": true} where there are none;'
                " or start the service with --experiences",
            )
        return await self._aside.call(self._reader, sent.root_uri, snapshot_id)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
