"""One rollout with the service of an environment: submitted, waited for, checked (RFC §15.6.2, §15.6.3).

A rollout is submitted under a key of its own (`Idempotency-Key`), so an answer that was lost, and a service
that was started anew, lead to one rollout and not to two. What a service says is checked, not believed.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trainer.errors import ComponentError
from trainer.importers import rollout_json
from trainer.importers.jsontext import RecordError
from trainer.remote.client import HttpError, segment
from trainer.remote.protocol import (
    CANCELLED,
    CASE_ID,
    COMPLETED,
    EXECUTE,
    EXECUTIONS,
    FAILED,
    IDEMPOTENCY,
    IDEMPOTENCY_HEADER,
    SEED,
    TRAINING,
    UNFINISHED,
    Execution,
    read_wire,
)
from trainer.remote.values import case_id, is_of
from xpstore.errors import XpError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pydantic import JsonValue

    from trainer.context import ExecutionContext
    from trainer.domain import Case, Rollout
    from trainer.remote.client import JsonClient
    from trainer.remote.protocol import CaseJson

Fault = Literal[
    "failed",
    "cancelled",
    "lost",
    "deadline",
    "other case",
    "other snapshot",
    "other service",
    "wrong answer",
]
"""Why there is no rollout:

failed          the service says why it could not run the case
cancelled       somebody has taken the execution back
lost            the service no longer knows the execution, and did not know it after another submission either
deadline        no result in time
other case      the rollout is of another case
other snapshot  the rollout ran under another policy
other service   the service has another name or version than it had
wrong answer    what came is no rollout
"""
FIRST_POLL = 0.02
LONGEST_POLL = 2.0
BUSY_PAUSE = 1.0
CANCEL_SECONDS = 2.0


class RemoteError(ComponentError):
    """A rollout that a service did not deliver; an infrastructure failure of its case."""

    def __init__(self, fault: Fault, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.fault: Fault = fault


@dataclass(frozen=True, slots=True)
class Submission:
    """A rollout that is wanted."""

    case: Case
    sent: CaseJson
    """What the service is sent of the case."""
    policies: JsonValue
    """The policy set as it is sent."""
    context: ExecutionContext
    options: Mapping[str, JsonValue]
    key: str
    """The idempotency key: one rollout for each."""

    @property
    def body(self) -> dict[str, JsonValue]:
        """The body of the request."""
        metadata: dict[str, JsonValue] = {
            **self.context.metadata,
            SEED: self.context.seed,
            TRAINING: self.context.training,
            CASE_ID: case_id(self.case),
            IDEMPOTENCY: self.key,
        }
        return {
            "case": self.sent.model_dump(mode="json"),
            "policy_set": self.policies,
            "execution_context": {
                "policy_snapshot_id": self.context.policy_snapshot_id,
                "metadata": metadata,
            },
            "options": dict(self.options),
        }


async def run(client: JsonClient, wanted: Submission) -> Rollout:
    """Return the rollout, with the case as it was handed over.

    Raises RemoteError and HttpError. Whoever gives up, or is cancelled, tells the service that nobody waits.
    """
    remote = _Remote(client, wanted)
    try:
        execution = await remote.ended()
    except BaseException:  # cancelled, too: nobody waits for it any more
        await remote.take_back()
        raise
    return _checked(wanted, execution)


@asynccontextmanager
async def deadline(seconds: float | None, what: str) -> AsyncIterator[None]:
    """Bound what is done inside. Raises RemoteError (deadline) that says of what there is no result."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired() or seconds is None:
            raise
        raise RemoteError("deadline", f"no result of {what} within {seconds:g} s") from None


async def _submit(client: JsonClient, wanted: Submission) -> Execution:
    """Return the execution. A service that is full is asked again, until the deadline."""
    while True:
        try:
            answer = await client.post(
                EXECUTE, wanted.body, headers={IDEMPOTENCY_HEADER: wanted.key}, idempotent=True
            )
            return _read(client, wanted, answer)
        except HttpError as error:
            if error.kind != "busy" or client.is_too_long(error.retry_after):
                raise
            await asyncio.sleep(_spread(error.retry_after or BUSY_PAUSE))


class _Remote:
    """A rollout at the service: the execution that is waited for, and the submission that leads to it."""

    def __init__(self, client: JsonClient, wanted: Submission) -> None:
        self._client = client
        self._wanted = wanted
        self._submitting: asyncio.Task[Execution] | None = None

    async def ended(self) -> Execution:
        """Return the execution when it has ended; one that the service has lost is submitted once more."""
        host = self._client.host
        execution, is_second = await self._submitted(), False
        pause = FIRST_POLL
        while not _is_whole(execution):
            if execution.status in UNFINISHED:
                await asyncio.sleep(_spread(pause))
                pause = min(pause * 1.5, LONGEST_POLL)
            try:
                answer = await self._client.get(_path(execution))
            except HttpError as error:
                if error.kind != "gone":
                    raise
                if is_second:
                    lost = f"{host} has lost the rollout of case {self._wanted.case.name!r} twice"
                    raise RemoteError("lost", lost) from None
                execution, is_second = await self._submitted(), True
                continue
            polled = _read(self._client, self._wanted, answer)
            if polled.execution_id != execution.execution_id:
                raise RemoteError("wrong answer", f"{host} answered with another execution")
            if polled.status == COMPLETED and polled.rollout is None:
                raise RemoteError("wrong answer", f"{host} says completed, and sends no rollout")
            execution = polled
        return execution

    async def take_back(self) -> None:
        """Tell the service that nobody waits for the rollout; not a word where it does not listen.

        A submission that is on its way is waited for: only its answer says what there is to be taken back.
        """
        with suppress(XpError, TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                if self._submitting is not None:
                    await self._client.delete(_path(await self._submitting))

    async def _submitted(self) -> Execution:
        self._submitting = asyncio.ensure_future(_submit(self._client, self._wanted))
        return await asyncio.shield(self._submitting)


def _is_whole(execution: Execution) -> bool:
    return execution.status in {FAILED, CANCELLED} or execution.rollout is not None


def _read(client: JsonClient, wanted: Submission, answer: JsonValue) -> Execution:
    execution = read_wire(answer, Execution, f"{client.host} sent no execution")
    if execution.case_name not in {wanted.case.name, ""}:
        raise RemoteError(
            "other case", f"{client.host} runs case {execution.case_name!r}, not {wanted.case.name!r}"
        )
    if execution.status not in UNFINISHED | {COMPLETED, FAILED, CANCELLED}:
        raise RemoteError("wrong answer", f"{client.host} sent a status {execution.status[:40]!r}")
    return execution


def _checked(wanted: Submission, execution: Execution) -> Rollout:
    """Return the rollout of an execution that has ended. Raises RemoteError."""
    name = wanted.case.name
    if execution.status == CANCELLED:
        raise RemoteError("cancelled", f"the rollout of case {name!r} was cancelled at the service")
    if execution.status == FAILED or execution.rollout is None:
        why = execution.error or "the service does not say why"
        raise RemoteError("failed", f"the service could not run case {name!r}: {why}")
    try:
        rollout = rollout_json.read(execution.rollout)
    except RecordError as error:
        raise RemoteError("wrong answer", f"case {name!r}: {error}") from None
    if not is_of(rollout.case, wanted.sent.case()):
        raise RemoteError(
            "other case", f"the service sent a rollout of case {rollout.case.name!r}, not {name!r}"
        )
    if rollout.policy_snapshot_id != wanted.context.policy_snapshot_id:
        raise RemoteError(
            "other snapshot",
            f"the rollout ran under policy {rollout.policy_snapshot_id or 'of no name'},"
            f" not {wanted.context.policy_snapshot_id}",
        )
    return rollout.model_copy(update={"case": wanted.case})


def _path(execution: Execution) -> str:
    return f"{EXECUTIONS}/{segment(execution.execution_id)}"


def _spread(seconds: float) -> float:
    """Return a pause such that those who wait for the same do not come back together."""
    return seconds * random.uniform(0.75, 1.25)  # noqa: S311  # no secret
