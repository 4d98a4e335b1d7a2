"""The endpoints of RFC §15.6, and one more: an execution can be taken back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Request
from fastapi.responses import JSONResponse

from trainer.env_kit.cases import CaseBook
from trainer.env_kit.executions import Executions
from trainer.env_kit.intake import Intake
from trainer.remote.protocol import (
    EXECUTE,
    EXECUTIONS,
    IDEMPOTENCY_HEADER,
    MOST_KEY,
    QUERY,
    CasePage,
    CasesQuery,
    ExecuteRequest,
    Execution,
)
from trainer.web.app import caller_of
from trainer.web.keys import Caller

router = APIRouter()

Who = Annotated[Caller, Depends(caller_of)]
Id = Annotated[str, Path(max_length=MOST_KEY)]
Key = Annotated[str, Header(alias=IDEMPOTENCY_HEADER, max_length=MOST_KEY)]


def _cases(request: Request) -> CaseBook:
    found: CaseBook = request.app.state.cases
    return found


def _executions(request: Request) -> Executions:
    found: Executions = request.app.state.executions
    return found


def _intake(request: Request) -> Intake:
    found: Intake = request.app.state.intake
    return found


Cases = Annotated[CaseBook, Depends(_cases)]
Running = Annotated[Executions, Depends(_executions)]
Taking = Annotated[Intake, Depends(_intake)]


@router.post(QUERY, tags=["cases"])
async def query_cases(query: CasesQuery, cases: Cases) -> CasePage:
    """Return a page of cases; where `next_cursor` is null it is the last one."""
    return await cases.page(query)


@router.post(EXECUTE, tags=["rollouts"], response_model=Execution)
async def execute_rollout(asked: ExecuteRequest, intake: Taking, who: Who, key: Key = "") -> JSONResponse:
    """Submit a rollout of one case; ask for its state until it is completed or failed.

    Submissions with the same `Idempotency-Key` are one. Where the queue is full: 429 with Retry-After.
    """
    return _shown(await intake.take(asked, key, who.name))


@router.get(f"{EXECUTIONS}/{{execution_id}}", tags=["rollouts"], response_model=Execution)
async def get_execution(execution_id: Id, executions: Running, who: Who) -> JSONResponse:
    """Return the state of a rollout, and the rollout itself where it is completed.

    An execution that had not ended when the service was started anew is a 404: submit it again.
    """
    return _shown(await executions.get(execution_id, who.name))


@router.delete(f"{EXECUTIONS}/{{execution_id}}", tags=["rollouts"], response_model=Execution)
async def cancel_execution(execution_id: Id, executions: Running, who: Who) -> JSONResponse:
    """Take a rollout back: it is cancelled where it has not ended."""
    return _shown(await executions.cancel(execution_id, who.name))


def _shown(execution: Execution) -> JSONResponse:
    """Return the state as the RFC shows it: `error` always, `rollout` where there is one."""
    left_out = {"rollout"} if execution.rollout is None else None
    return JSONResponse(execution.model_dump(mode="json", exclude=left_out))
