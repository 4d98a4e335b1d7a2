"""Learn from the recordings that are put into a directory, as long as somebody watches it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.errors import BatchError
from trainer.importers import AS_FOUND, Problem, iter_rollouts
from xpstore.errors import UsageError
from xpstore.watch import hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from trainer.components.streaming_trainer import StreamingPolicyTrainer
    from trainer.domain import Rollout, RolloutTrainingResult
    from trainer.drop_folder import DropFolder
    from trainer.importers import Imported, Reading

POLL = 1.0
"""Seconds after which the directory is looked at, whatever was reported."""
AT_ONCE = 64
"""As many rollouts of a file are learned from at the same time."""
FILES = 16
"""As many files are read at the same time."""


@dataclass(slots=True)
class FileReport:
    """What a file held, and what came of it."""

    file: str
    rollouts: int = 0
    """Each once."""
    plans: dict[str, str] = field(default_factory=dict)
    """Plan id → commit of what was learned from them."""
    nothing: dict[str, str] = field(default_factory=dict)
    """Rollout → why it taught nothing."""
    already: int = 0
    """Learned before, or by another trainer at this moment."""
    problems: list[Problem] = field(default_factory=list)
    """Records that cannot be read; line 0 = the whole file."""
    remarks: list[Problem] = field(default_factory=list)
    """What was read all the same."""
    unscored: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """Rollout → what could not be done with it; it stays in the inbox."""

    @property
    def is_good(self) -> bool:
        """Whether all of it could be read and learned from."""
        return not self.problems and not self.failures

    def add(self, rollout: str, result: RolloutTrainingResult) -> None:
        """Take what came of a rollout."""
        applied = result.apply_result
        commits = applied.commits or ("",) * len(applied.plans)
        landed = {plan.plan_id: commit for plan, commit in zip(applied.plans, commits, strict=True)}
        self.plans.update({plan.plan_id: landed.get(plan.plan_id, "") for plan in result.plans})
        self.nothing.update(result.nothing)
        self.already += len(result.already)
        self.failures.update({f.rollout or rollout: f.error for f in result.failures if f.stage != "recall"})


async def watch_folder(  # noqa: PLR0913  # what `xp watch DIR` says
    trainer: StreamingPolicyTrainer,
    folder: DropFolder,
    tell: Callable[[FileReport], None],
    *,
    once: bool = False,
    poll: float = POLL,
    reading: Reading = AS_FOUND,
) -> None:
    """Learn from every file that becomes whole, and tell what came of it, until this is cancelled.

    With `once` it ends when nothing waits any more. A file that cannot be read is told of, and not tried
    again before it changes. Raises UsageError where the directory is gone, and what the trainer raises.
    """
    stopped = threading.Event()
    looks = hints([folder.root], poll, stopped)
    places = asyncio.Semaphore(FILES)
    tasks: set[asyncio.Task[None]] = set()

    async def read(path: Path) -> None:
        async with places:
            tell(await learn_file(trainer, path, reading))

    try:
        while await asyncio.to_thread(_look, looks):
            tasks.update(asyncio.create_task(read(path)) for path in await asyncio.to_thread(folder.take))
            for task in {task for task in tasks if task.done()}:
                tasks.remove(task)
                task.result()
            if once and not folder.is_waiting:
                break
        await asyncio.gather(*tasks)
    finally:
        stopped.set()
        for task in tasks:
            task.cancel()


async def learn_file(trainer: StreamingPolicyTrainer, path: Path, reading: Reading = AS_FOUND) -> FileReport:
    """Learn from the rollouts of a file; whatever is wrong with it is in the report.

    The file of scores is for many files: what it says of others is no remark on this one.
    """
    report = FileReport(str(path))
    gate = asyncio.Semaphore(AT_ONCE)
    tasks: list[asyncio.Task[None]] = []

    async def learn(rollout: Rollout) -> None:
        try:
            report.add(rollout.id, await trainer.submit_rollout(rollout))
        except BatchError as error:
            report.failures[rollout.id] = error.message
        finally:
            gate.release()

    items = iter_rollouts([path], reading)
    try:
        while (item := await asyncio.to_thread(_next, items)) is not None:
            if isinstance(item, Problem):
                report.problems += [item] if item.kind == "broken" else []
                is_remark = item.kind in {"warning", "score"} and item.path == str(path)
                report.remarks += [item] if is_remark else []
                continue
            report.rollouts += 1
            report.unscored += item.rollout.evaluation is None
            await gate.acquire()
            tasks.append(asyncio.create_task(learn(item.rollout)))
        await asyncio.gather(*tasks)
    except UsageError as error:  # it cannot be opened, or is gone
        await asyncio.gather(*tasks)
        report.problems.append(Problem(str(path), 0, error.message))
    finally:
        for task in tasks:
            task.cancel()
    return report


def _look(looks: Iterator[None]) -> bool:
    """Wait for the next moment to look; say whether there is one."""
    return next(looks, 0) is None


def _next(items: Iterator[Imported | Problem]) -> Imported | Problem | None:
    return next(items, None)
