"""The door to Ray, the only importer of it. It comes with the extra `ray`."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Self

import ray
from ray.exceptions import RayError, RayTaskError

from trainer.cluster.work import raised
from trainer.errors import ComponentError
from xpstore.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from trainer.cluster.work import Answer

RETRIES = 1
"""How often a task is tried again whose worker, or whose machine, was lost."""
PATIENCE = 10.0
"""Seconds in which the machine of a cluster has to answer."""


class Cluster:
    """A connection to a cluster: the one at an address, else one on this machine, made for it.

    An address is HOST:PORT, ray://HOST:PORT, or "auto" for a cluster that runs here. A task takes one
    processor. Use it in an `async with` block.
    """

    def __init__(self, address: str = "", *, processors: int | None = None) -> None:
        """`processors` of a cluster that is made for it; None = those of the machine."""
        self._address = address
        self._processors = processors

    async def call(self, work: Callable[..., Answer], *arguments: object) -> str:
        """Return what a function of `work.py` answers, run on a worker.

        Raises the XpError that it met there. A worker that is lost with it, twice, is a ComponentError.
        Where the caller is cancelled, so is the task, with its worker if need be.
        """
        remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(work)
        task = remote.remote(*arguments)
        try:
            answer: Answer = await task
        except asyncio.CancelledError:
            ray.cancel(task, force=True)
            raise
        except RayTaskError as error:  # a defect: what can be expected to go wrong is an answer
            raise ComponentError(f"a worker failed: {type(error.cause).__name__}: {error.cause}") from error
        except RayError as error:
            said = str(error).strip().partition("\n")[0]
            raise ComponentError(
                f"the worker was lost, and so was the one that tried again: {type(error).__name__}: {said}",
                hint="the machines may be short of memory; ray status tells about them",
            ) from error
        if answer.kind:
            raise raised(answer)
        return answer.text

    async def __aenter__(self) -> Self:
        """Connect. Raises RefusedError where there is no cluster, and none can be made."""
        await _answering(self._address)
        starting = asyncio.ensure_future(
            asyncio.to_thread(
                ray.init,
                self._address or None,
                num_cpus=self._processors,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        )
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:  # a thread cannot be stopped, and what it starts would stay
            await asyncio.wait([starting])
            await asyncio.to_thread(ray.shutdown)
            raise
        except (RuntimeError, ConnectionError, ValueError, OSError) as error:  # all that Ray raises here
            said = str(error).strip().partition("\n")[0]
            raise RefusedError(
                f"Ray cannot be used: {said}",
                hint="see RAY_ADDRESS and `ray status`, or go without --executor",
            ) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(ray.shutdown)


async def _answering(address: str) -> None:
    """Raise RefusedError where nobody listens at HOST:PORT: Ray itself would try again for minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, OverflowError, TimeoutError) as error:
        raise RefusedError(
            f"no cluster answers at {address}: {error or 'nothing was heard'}",
            hint="see RAY_ADDRESS and `ray status`, or go without --executor",
        ) from error
    writer.close()
