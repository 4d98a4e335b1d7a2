"""What runs on a worker of a cluster, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.cluster.work import worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer.cluster.work import Answer


def alone(function: Callable[..., Answer], *arguments: object) -> Answer:
    """Run it as a process that does only this: what it kept goes with it."""
    try:
        return function(*arguments)
    finally:
        end()


def end() -> None:
    """End the worker that this process has been."""
    worker().close()
    worker.cache_clear()
