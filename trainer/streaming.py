"""The streaming trainers of this process: one for each branch of a store, shared by all who ask for it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from trainer.assembly import engine_of, learning
from trainer.components.streaming_trainer import StreamingPolicyTrainer, StreamingPolicyTrainerConfig
from trainer.context import ApplyContext, PatchMergePolicyOptimizerContext, PipelineContext
from trainer.errors import ClosedError
from trainer.inbox import GitInbox
from trainer.journal import GitJournal
from trainer.store_door import StoreDoor
from xpstore import layout
from xpstore.errors import UsageError, XpError
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from trainer.strategies import ModelChoice

trace = logging.getLogger("xpstore.trace.stream")

LIVE = "live"
"""The candidate that streaming trainers teach where no branch is named: `train/live`."""


class StreamingPolicyTrainerKey(NamedTuple):
    """What a process has one streaming trainer for."""

    policy_root_uri: str
    branch: str


def make_streaming_policy_trainer_key(
    policy_root_uri: str, request_context: ApplyContext
) -> StreamingPolicyTrainerKey:
    """Return the key of the trainer for a policy (the path of its store) and a branch."""
    return StreamingPolicyTrainerKey(policy_root_uri, request_context.branch)


@dataclass(frozen=True, slots=True)
class _Settings:
    """What all who share a trainer must want alike."""

    start: str
    choice: ModelChoice | None
    config: StreamingPolicyTrainerConfig


@dataclass(eq=False, slots=True)
class _Shared:
    settings: _Settings
    loop: asyncio.AbstractEventLoop
    stack: AsyncExitStack
    opening: asyncio.Task[StreamingPolicyTrainer]
    users: int = 0


_shared: dict[StreamingPolicyTrainerKey, _Shared] = {}


@asynccontextmanager
async def get_streaming_policy_trainer(  # noqa: PLR0913  # all that two callers may differ in
    location: Path,
    *,
    store: str | None = None,
    branch: str = "",
    start: str = "",
    choice: ModelChoice | None = None,
    config: StreamingPolicyTrainerConfig | None = None,
    recover: bool = True,
) -> AsyncIterator[StreamingPolicyTrainer]:
    """Open this process's streaming trainer of a branch (default: the candidate `live`), or share it.

    `choice` is the model that learns, None = none does. Who opens it has what is open in the inbox taken up
    in the background, unless not `recover`; the last one to leave closes it, and what was begun is finished.
    Raises UsageError where it is open with other settings or in another event loop, and what opening a
    learner raises.
    """
    key, target = await asyncio.to_thread(_find, location, store, branch, start)
    settings = _Settings(start, choice, config or StreamingPolicyTrainerConfig())
    shared = _shared.get(key)
    loop = asyncio.get_running_loop()
    if shared is not None and shared.loop.is_closed():  # its loop was ended without closing it
        shared = None
    if shared is None:
        stack = AsyncExitStack()
        door = StoreDoor(location, store)
        opening = loop.create_task(_open(stack, door, target, settings, recover=recover))
        shared = _shared[key] = _Shared(settings, loop, stack, opening)
    elif shared.loop is not loop or shared.settings != settings:
        what = "other settings" if shared.loop is loop else "another event loop"
        raise UsageError(
            f"the streaming trainer of {key.branch} is open with {what}",
            hint="share it with the settings that it has, or close it first",
        )
    shared.users += 1
    try:
        yield await asyncio.shield(shared.opening)
    finally:
        shared.users -= 1
        if not shared.users:
            if _shared.get(key) is shared:
                del _shared[key]
            await _close(shared)


async def _open(
    stack: AsyncExitStack,
    door: StoreDoor,
    target: ApplyContext,
    settings: _Settings,
    *,
    recover: bool,
) -> StreamingPolicyTrainer:
    await stack.enter_async_context(door)
    duplicates = await door.call(lambda found: found.config.duplicates)
    strategies = await stack.enter_async_context(learning(door, settings.choice))
    optimization = PatchMergePolicyOptimizerContext(run_id=target.run_id, duplicates=duplicates)
    context = strategies.tuned(PipelineContext(optimization_context=optimization, apply_context=target))
    trainer = StreamingPolicyTrainer(
        engine_of(door, target, strategies),
        GitJournal(door, target.branch),
        GitInbox(door, target.branch),
        context,
        settings.config,
    )
    stack.push_async_callback(trainer.close)
    if recover:
        recovery = asyncio.ensure_future(_recover(trainer))
        stack.push_async_callback(_ended, recovery)
    return trainer


async def _recover(trainer: StreamingPolicyTrainer) -> None:
    """Take up what is open; where that cannot be done, what comes now is learned from all the same."""
    try:
        results = await trainer.recover()
    except ClosedError:
        trace.info("closed before all of the inbox was taken up: the next start does it")
    except XpError as error:
        trace.warning("the inbox was not taken up: %s", error.message)
    else:
        trace.info("%d rollouts of the inbox were taken up", len(results))


async def _ended(recovery: asyncio.Future[None]) -> None:
    """Let what recovery has begun be finished by closing, and begin no more."""
    recovery.cancel()
    await asyncio.wait([recovery])


async def _close(shared: _Shared) -> None:
    """Close everything, also what was opened where the rest failed."""
    if not shared.opening.done():
        shared.opening.cancel()
        await asyncio.wait([shared.opening])
    await shared.stack.aclose()


def _find(
    location: Path, store: str | None, branch: str, start: str
) -> tuple[StreamingPolicyTrainerKey, ApplyContext]:
    found = Location.find(location, store)
    name = branch or f"{found.candidate_prefix}{LIVE}"
    name = found.branch_ref(name).removeprefix(layout.HEADS)  # what cannot be a name is refused here
    target = ApplyContext(run_id=secrets.token_hex(4), branch=name, start=start)
    root = found.repo.common_dir / found.prefix
    return make_streaming_policy_trainer_key(str(root), target), target
