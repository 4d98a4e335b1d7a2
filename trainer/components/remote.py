"""Cases and rollouts from the service of an environment (RFC §13): RemoteCaseLoader, RemoteRolloutExecutor.

The service is sent no label of a case, and no label of its own cases gets into a store.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4
from weakref import WeakKeyDictionary

from trainer.components.case_loader import ListCaseLoader
from trainer.errors import ComponentError
from trainer.remote.client import HttpError
from trainer.remote.protocol import DEFAULT_LIMIT, HEALTH, QUERY, CasePage, Health, read_wire
from trainer.remote.rollout import RemoteError, Submission, deadline, run
from trainer.remote.values import policy_set_json, sent_case, unlabelled
from xpstore.errors import XpError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.context import ExecutionContext, PipelineContext
    from trainer.domain import Case, Rollout
    from trainer.remote.client import JsonClient
    from trainer.remote.protocol import CasesQuery
    from xpstore.experience import ExperienceSet

    Connect = Callable[[], JsonClient]

MOST_CASES = 100_000
PARALLEL = 64
TIME_LIMIT = 3_600.0


class RemoteCaseLoader:
    """CaseLoader: the cases of a slice of a service's data."""

    def __init__(
        self,
        connect: Connect,
        query: CasesQuery,
        *,
        page: int = DEFAULT_LIMIT,
        batch_size: int | None = None,
        labels: bool = False,
    ) -> None:
        """`page` is how many cases are asked for at once, `batch_size` as `ListCaseLoader` has it.

        What the service says of how a case is to come out (`LABELS` of remote/values.py) is left out: it
        gets into no store. With `labels` it stays.
        """
        self._connect = connect
        self._query = query
        self._page = page
        self._batch_size = batch_size
        self._labels = labels

    async def batches(self, context: PipelineContext) -> AsyncIterator[list[Case]]:
        """Yield non-empty batches; every call asks anew. Raises HttpError, also for pages that are none."""
        cases = await self.load(context.case_load_context.limit)
        async for batch in ListCaseLoader(cases, self._batch_size).batches(context):
            yield batch

    async def load(self, limit: int | None = None) -> list[Case]:
        """Return the cases, at most `limit` of them, the first ones. Raises HttpError."""
        found: dict[str, Case] = {}
        seen: set[str] = set()
        cursor: str | None = None
        most = MOST_CASES if limit is None else min(limit, MOST_CASES)
        async with self._connect() as client:
            while len(found) < most:
                page = await self._read(client, cursor)
                for sent in page.cases:
                    if sent.name in found:
                        raise _wrong(client, f"case {sent.name!r} twice")
                    case = sent.case()
                    found[sent.name] = case if self._labels else unlabelled(case)
                cursor = page.next_cursor
                if cursor is None:
                    break
                if not page.cases:
                    raise _wrong(client, "a page without cases, and a cursor to the next one")
                if cursor in seen:
                    raise _wrong(client, f"the cursor {cursor[:80]!r} twice: its pages go in a circle")
                seen.add(cursor)
            else:
                if limit is None:
                    raise _wrong(client, f"more than {MOST_CASES:,} cases")
        return list(found.values())[:most]

    async def _read(self, client: JsonClient, cursor: str | None) -> CasePage:
        query = self._query.model_copy(update={"cursor": cursor, "limit": self._page})
        answer = await client.post(QUERY, query.model_dump(mode="json"), idempotent=True)
        page = read_wire(answer, CasePage, f"{client.host} sent no page of cases")
        if len(page.cases) > self._page:
            raise _wrong(client, f"{len(page.cases)} cases where {self._page} were asked for")
        return page


class RemoteRolloutExecutor:
    """RolloutExecutor: a service runs the rollouts. It bears concurrent calls, in any event loop."""

    def __init__(  # noqa: PLR0913  # how a service is asked
        self,
        connect: Connect,
        *,
        options: Mapping[str, JsonValue] | None = None,
        case_input: Collection[str] | None = None,
        pinned: bool = True,
        root_uri: str = "",
        parallel: int = PARALLEL,
        time_limit: float | None = TIME_LIMIT,
        total_limit: float | None = None,
        expected: Health | None = None,
    ) -> None:
        """`connect` opens a client of the service; its key is in no body.

        `options` are the service's own. Of a case's input, the service is sent what it asks for (`/health`),
        and never a label, unless `case_input` names the fields. `pinned`: the experiences are sent along;
        otherwise the service reads them at `root_uri`, or the set's own, at the snapshot's id. At most
        `parallel` rollouts of this executor are with the service at once. `time_limit` is in seconds for one
        rollout, `total_limit` for all of a call. `expected` is what the service has said of itself: where its
        name or version is another one now, no rollout of it counts.
        """
        self._connect = connect
        self._options = dict(options or {})
        self._told = case_input
        self._wanted: Collection[str] | None = None
        self._is_away = False
        self._pinned = pinned
        self._root_uri = root_uri
        self._parallel = parallel
        self._time_limit = time_limit
        self._total_limit = total_limit
        self._expected = expected
        self._policies: tuple[ExperienceSet | None, JsonValue] = (None, None)
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        """Return one rollout per case, in order.

        Raises RemoteError and HttpError where a case has none; of several cases all are tried first. Where
        it is cancelled, the service is told that nobody waits any more.
        """
        async with deadline(self._total_limit, f"{len(cases)} cases"), self._connect() as client:
            wanted = await self._wants(client)
            policies = self._sent_policies(policy_set)
            submissions = [
                Submission(
                    case, sent_case(case, wanted, self._told), policies, context, self._options, uuid4().hex
                )
                for case in cases
            ]
            outcomes = await asyncio.gather(
                *(self._gated(client, each) for each in submissions), return_exceptions=True
            )
        self._is_away = any(isinstance(o, HttpError) and o.kind == "unreachable" for o in outcomes)
        return _all_of(cases, outcomes)

    async def _gated(self, client: JsonClient, wanted: Submission) -> Rollout:
        gate = self._gates.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._parallel))
        async with gate, deadline(self._time_limit, f"case {wanted.case.name!r}"):
            return await run(client, wanted)

    async def _wants(self, client: JsonClient) -> Collection[str]:
        """Return which fields of a case's input the service asks for; a service without /health: none.

        Where nobody answered the last call, nobody is waited for: one attempt tells whether the service is
        back, so that hundreds of trials do not wait one after the other.
        """
        if self._expected is None and self._wanted is not None and not self._is_away:
            return self._wanted
        try:
            health = await health_of(client, retries=0 if self._is_away else None)
        except HttpError as error:
            self._is_away = error.kind == "unreachable"
            if error.kind != "gone" or self._expected is not None:
                raise
            health = Health()
        self._is_away = False
        if self._expected is not None:
            _check_same(client, self._expected, health)
        self._wanted = health.case_input
        return self._wanted

    def _sent_policies(self, policy_set: ExperienceSet) -> JsonValue:
        """Return the policy set as it is sent; all trials of a run have the same."""
        known, made = self._policies
        if known is not policy_set:
            sent = policy_set_json(policy_set, self._root_uri)
            if not self._pinned:
                sent = sent.model_copy(update={"policies": (), "metadata": {}})
            made = sent.model_dump(mode="json")
            self._policies = policy_set, made
        return made


async def health_of(client: JsonClient, *, retries: int | None = None) -> Health:
    """Return what a service says of itself; `retries` as `JsonClient.send` has it. Raises HttpError."""
    reply = await client.send("GET", HEALTH, retries=retries)
    return read_wire(reply.value, Health, f"{client.host} says of itself what cannot be read")


def _check_same(client: JsonClient, expected: Health, health: Health) -> None:
    """Raise RemoteError where a service is another one than it was."""
    for was, is_now in ((expected.name, health.name), (expected.version, health.version)):
        if was != is_now:
            raise RemoteError(
                "other service", f"{client.host} is another service now: {is_now!r}, it was {was!r}"
            )


def _wrong(client: JsonClient, what: str) -> HttpError:
    return HttpError("wrong answer", f"{client.host} sent {what}")


def _all_of(cases: Sequence[Case], outcomes: Sequence[Rollout | BaseException]) -> list[Rollout]:
    """Return the rollouts where there is one of each case; else raise why not."""
    rollouts = [each for each in outcomes if not isinstance(each, BaseException)]
    failed = [
        (case.name, each)
        for case, each in zip(cases, outcomes, strict=True)
        if isinstance(each, BaseException)
    ]
    if not failed:
        return rollouts
    first = next((error for _, error in failed if not isinstance(error, XpError)), failed[0][1])
    if len(cases) == 1 or not isinstance(first, XpError):
        raise first
    raise ComponentError(
        f"{len(failed)} of {len(cases)} cases have no rollout; {failed[0][0]!r}: {first.message}"
    ) from first
