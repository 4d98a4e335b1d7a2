"""The service of an environment: the endpoints of RFC §15.6 around one runtime.

app = make_service(runtime, limits=Limits(parallel=4), state=Path("runs.sqlite"))
run_app(app, "127.0.0.1", 1944, has_keys=False, announce=print)      # trainer/web/run.py
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from typing import TYPE_CHECKING

from trainer.env_kit.aside import Aside
from trainer.env_kit.cases import CaseBook
from trainer.env_kit.executions import Executions, Limits
from trainer.env_kit.foreign import reason, where
from trainer.env_kit.intake import Intake
from trainer.env_kit.routes import router
from trainer.env_kit.runtime import NamesAgent, TakesInput
from trainer.env_kit.store import ExecutionStore
from trainer.remote.protocol import Health
from trainer.web.app import make_app
from trainer.web.keys import Access
from trainer.web.limits import MEBIBYTE, WebLimits
from xpstore.errors import UsageError, XpError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fastapi import FastAPI

    from trainer.env_kit.intake import Reader
    from trainer.env_kit.runtime import EnvironmentRuntime
    from trainer.web.keys import KeyFile

BODY = 32 * MEBIBYTE
"""Of a submission, which has all experiences in it."""
SPARE = 4
"""Threads beside those of rollouts that run: one that has run out of time may not be done with its own."""
WEB_LIMITS = WebLimits(body_bytes=BODY, per_second=2_000, burst=10_000)


def make_service(  # noqa: PLR0913  # what two services differ in
    runtime: EnvironmentRuntime,
    *,
    limits: Limits | None = None,
    state: Path | None = None,
    reader: Reader | None = None,
    keys: KeyFile | None = None,
    labels: bool = False,
    web_limits: WebLimits = WEB_LIMITS,
) -> FastAPI:
    """Return the application.

    `state` is the file of what has ended; None forgets it with the process. `reader` reads experiences that
    are not sent along. With `keys` whoever calls needs one, and sees its own executions only. `labels` sends
    clients, too, what cases say of how they are to come out. Where the runtime is an async context manager,
    it is open while the service runs. Raises UsageError for a runtime without name or version; and, when it
    starts, RepositoryError where `state` cannot be opened.
    """
    if not runtime.name or not runtime.version:
        raise UsageError(
            "the environment has no name or no version",
            hint="scores are kept under both: change the version whenever a score could",
        )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        bounds = limits or Limits()
        # rollouts that work in threads (`asyncio.to_thread`) get as many as run at once
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(bounds.parallel + SPARE))
        with Aside() as aside, closing(ExecutionStore(state)) as store:
            async with _opened(runtime), Executions(runtime, store, bounds, aside) as executions:
                cases = CaseBook(runtime, aside, labels=labels)
                app.state.cases = cases
                app.state.executions = executions
                app.state.intake = Intake(cases, executions, reader, aside)
                yield

    return make_app(
        f"Environment {runtime.name}",
        [router],
        lifespan=lifespan,
        access=Access(keys) if keys else None,
        limits=web_limits,
        health=health_of(runtime).model_dump(mode="json", exclude={"status"}),
        version=runtime.version,
    )


def health_of(runtime: EnvironmentRuntime) -> Health:
    """Return what a service says of its runtime."""
    fields = tuple(runtime.case_input) if isinstance(runtime, TakesInput) else ()
    said = Health(name=runtime.name, version=runtime.version, case_input=fields)
    if not isinstance(runtime, NamesAgent):
        return said
    who = {"agent": runtime.agent, "model": runtime.model, "simulator": runtime.simulator}
    return said.model_copy(update=who)


@asynccontextmanager
async def _opened(runtime: EnvironmentRuntime) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        if isinstance(runtime, AbstractAsyncContextManager):
            try:
                await stack.enter_async_context(runtime)
            except XpError:
                raise
            except Exception as error:  # an author's code: whatever it is, it is told as theirs
                message = f"the environment {runtime.name} cannot be started: {reason(error)}"
                raise UsageError(message, hint=f"it comes from {where(error)}") from error
        yield
