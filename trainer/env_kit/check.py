"""Whether a service speaks the protocol: what `xp env check` asks of it, one thing after the other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from trainer.components.remote import health_of
from trainer.context import ExecutionContext
from trainer.importers import rollout_json
from trainer.importers.jsontext import RecordError
from trainer.remote.client import HttpError, segment
from trainer.remote.protocol import (
    COMPLETED,
    EXECUTE,
    EXECUTIONS,
    FAILED,
    IDEMPOTENCY_HEADER,
    QUERY,
    UNFINISHED,
    CasePage,
    CasesQuery,
    Execution,
    read_wire,
)
from trainer.remote.rollout import FIRST_POLL, LONGEST_POLL, Submission
from trainer.remote.values import is_of, policy_set_json, sent_case
from trainer.rollouts import score_problem
from xpstore.errors import XpError
from xpstore.experience import Experience, ExperienceSet

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from pydantic import JsonValue

    from trainer.domain import Case, Rollout
    from trainer.remote.client import JsonClient
    from trainer.remote.protocol import Health

PAGE = 3
"""Cases of the pages that are asked for."""
SNAPSHOT = "c" * 40
EXPERIENCES = ExperienceSet(
    root_uri="experiences",
    policies=(
        Experience(
            name="a-page-of-the-check",
            text="---\ndescription: Nothing that matters.\n---\n\n- This page is of a test.\n",
        ),
    ),
    snapshot_id=SNAPSHOT,
)


@dataclass(frozen=True, slots=True)
class Check:
    """What was asked, and how it came out."""

    name: str
    ok: bool
    why: str = ""
    """What is wrong, and how it has to be; of what is well, a remark or nothing."""


class _Wrong(Exception):  # noqa: N818  # it becomes a Check
    """What is wrong."""


class _Service:
    """A service under test; what one check has found, the next one builds on."""

    def __init__(
        self, client: JsonClient, query: CasesQuery, options: Mapping[str, JsonValue], seconds: float
    ) -> None:
        self.client = client
        self.query = query
        self.options = options
        self.seconds = seconds
        self.health: Health | None = None
        self.case: Case | None = None
        self.execution: Execution | None = None
        self.submission: Submission | None = None

    async def page(self, cursor: str | None = None, **more: JsonValue) -> CasePage:
        body = self.query.model_copy(update={"cursor": cursor, "limit": PAGE}).model_dump(mode="json")
        answer = await self.client.post(QUERY, {**body, **more}, idempotent=True)
        return read_wire(answer, CasePage, "it is no page of cases")

    async def submit(self, wanted: Submission) -> Execution:
        answer = await self.client.post(EXECUTE, wanted.body, headers={IDEMPOTENCY_HEADER: wanted.key})
        return read_wire(answer, Execution, "it is no execution")

    async def state(self, execution_id: str) -> Execution:
        answer = await self.client.get(f"{EXECUTIONS}/{segment(execution_id)}")
        return read_wire(answer, Execution, "it is no execution")

    async def ended(self, execution: Execution) -> Execution:
        pause = FIRST_POLL
        try:
            async with asyncio.timeout(self.seconds):
                while execution.status in UNFINISHED:
                    await asyncio.sleep(pause)
                    pause = min(pause * 1.5, LONGEST_POLL)
                    execution = await self.state(execution.execution_id)
        except TimeoutError:
            raise _Wrong(f"it is still {execution.status} after {self.seconds:g} s (--time-limit)") from None
        return execution

    def wanted(self, case: Case, seed: int = 1) -> Submission:
        fields = self.health.case_input if self.health else ()
        context = ExecutionContext(policy_snapshot_id=SNAPSHOT, seed=seed, metadata={"epoch": 0})
        policies = policy_set_json(EXPERIENCES).model_dump(mode="json")
        return Submission(case, sent_case(case, fields), policies, context, self.options, uuid4().hex)

    @property
    def ready(self) -> tuple[Case, Submission, Execution]:
        """What the submission has left. Raises _Wrong where there was none."""
        if self.case is None or self.submission is None or self.execution is None:
            raise _Wrong("there is no execution to look at; see above")
        return self.case, self.submission, self.execution


async def check(
    client: JsonClient,
    query: CasesQuery,
    *,
    options: Mapping[str, JsonValue] | None = None,
    seconds: float = 120.0,
) -> AsyncIterator[Check]:
    """Yield how each check came out, as it does. One rollout is run to its end, and one more begun.

    `seconds` is what a rollout may take. Raises nothing: a service that is not there fails all checks.
    """
    service = _Service(client, query, options or {}, seconds)
    for name, ask in CHECKS.items():
        try:
            yield Check(name, ok=True, why=await ask(service))
        except _Wrong as wrong:
            yield Check(name, ok=False, why=str(wrong))
        except (XpError, RecordError) as error:
            yield Check(name, ok=False, why=error.message if isinstance(error, XpError) else str(error))


async def _health(service: _Service) -> str:
    try:
        service.health = await health_of(service.client)
    except HttpError as error:
        if error.kind == "gone":
            return "there is none: xp eval cannot keep scores, Python programs can do without"
        raise
    if not service.health.name or not service.health.version:
        raise _Wrong("it has no name and version; scores are kept under them")
    return f"{service.health.name} {service.health.version}"


async def _cases(service: _Service) -> str:
    page = await service.page()
    if not page.cases:
        raise _Wrong("there are no cases for this dataset, domain and split (--dataset, --domain, --split)")
    if len(page.cases) > PAGE:
        raise _Wrong(f"{len(page.cases)} cases came where limit is {PAGE}")
    service.case = page.cases[0].case()
    if not service.case.rubric.criteria:
        raise _Wrong(f"the rubric of case {service.case.name!r} has no criteria")
    return ""


async def _paging(service: _Service) -> str:
    names: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        page = await service.page(cursor)
        names += [case.name for case in page.cases]
        if page.next_cursor is None:
            break
        if not page.cases or page.next_cursor == cursor:
            raise _Wrong("next_cursor leads nowhere; it has to be null on the last page")
        cursor = page.next_cursor
    if len(set(names)) < len(names):
        raise _Wrong("a case comes twice; pages have to follow each other")
    first = await service.page()
    if [case.name for case in first.cases] != names[: len(first.cases)]:
        raise _Wrong("the first page is another one when it is asked for again")
    return ""


async def _unknown_fields(service: _Service) -> str:
    await service.page(a_field_of_tomorrow={"any": "thing"})
    return ""


async def _wrong_request(service: _Service) -> str:
    try:
        await service.client.post(EXECUTE, {"case": "this is none"})
    except HttpError as error:
        if 400 <= error.status < 500:
            return ""
        raise _Wrong(f"a submission without a case has to be a 4xx: {error.message}") from None
    raise _Wrong("a submission without a case has to be a 4xx, and it was taken")


async def _unknown_execution(service: _Service) -> str:
    try:
        await service.state(f"rollout_exec_{uuid4().hex}")
    except HttpError as error:
        if error.kind == "gone":
            return ""
        raise _Wrong(f"an execution that there is not has to be a 404: {error.message}") from None
    raise _Wrong("an execution that there is not has to be a 404, and there was one")


async def _submission(service: _Service) -> str:
    if service.case is None:
        raise _Wrong("there is no case to run; see above")
    wanted = service.wanted(service.case)
    execution = await service.submit(wanted)
    if execution.case_name != service.case.name:
        raise _Wrong(f"case_name is {execution.case_name!r}, and {service.case.name!r} was submitted")
    if execution.status not in UNFINISHED | {COMPLETED, FAILED}:
        raise _Wrong(f"status is {execution.status!r}; there are running, completed and failed")
    service.submission, service.execution = wanted, execution
    return ""


async def _idempotency(service: _Service) -> str:
    _, wanted, execution = service.ready
    again = await service.submit(wanted)
    if again.execution_id != execution.execution_id:
        raise _Wrong("the same Idempotency-Key makes a second execution; a lost answer costs another rollout")
    return ""


async def _result(service: _Service) -> str:
    case, wanted, execution = service.ready
    done = await service.ended(execution)
    if done.status == FAILED:
        raise _Wrong(f"the rollout of case {case.name!r} failed: {done.error or 'no reason is given'}")
    if done.status != COMPLETED or done.rollout is None:
        raise _Wrong(f"status is {done.status!r} without a rollout; completed has one")
    rollout = rollout_json.read(done.rollout)
    if not is_of(rollout.case, wanted.sent.case()):
        raise _Wrong(f"the rollout is of case {rollout.case.name!r}, and {case.name!r} was submitted")
    if rollout.policy_snapshot_id != SNAPSHOT:
        raise _Wrong("policy_snapshot_id is not what was submitted; it has to come back as it is")
    return _scored(rollout, case)


def _scored(rollout: Rollout, case: Case) -> str:
    """Return a remark on a rollout. Raises _Wrong where nobody can learn from it, or count it."""
    if rollout.evaluation is None:
        raise _Wrong("the rollout has no evaluation, so xp eval cannot count it")
    if problem := score_problem(rollout.evaluation):
        raise _Wrong(problem)
    known = {criterion.name for criterion in case.rubric.criteria}
    strange = [
        r.criterion_name for r in rollout.evaluation.criterion_results if r.criterion_name not in known
    ]
    if strange:
        raise _Wrong(f"the evaluation has a criterion {strange[0]!r} that the rubric has not")
    if not any(message.role == "assistant" and message.parts for message in rollout.messages):
        raise _Wrong("the agent says and does nothing in messages, so nothing can be learned")
    if not rollout.tools:
        return "no tool was called: calls belong into parts of type tool, not into text"
    return ""


async def _cancellation(service: _Service) -> str:
    case, _, _ = service.ready
    execution = await service.submit(service.wanted(case, seed=2))
    try:
        await service.client.delete(f"{EXECUTIONS}/{segment(execution.execution_id)}")
    except HttpError as error:
        if error.status in {404, 405, 501}:
            return "it does not take executions back: what is interrupted here runs on there"
        raise
    return ""


CHECKS: Mapping[str, Callable[[_Service], Awaitable[str]]] = {
    "health": _health,
    "cases": _cases,
    "pages": _paging,
    "unknown fields": _unknown_fields,
    "wrong request": _wrong_request,
    "unknown execution": _unknown_execution,
    "submission": _submission,
    "submitted twice": _idempotency,
    "rollout": _result,
    "cancellation": _cancellation,
}
