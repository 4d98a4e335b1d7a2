"""The rollouts of a benchmark as files, one each: to be looked at, and not to be paid for twice.

    rollouts/<train or eval>/<case>.<trial>.<id>.json

The id is a hash of everything that decides what the rollout is, so a run that was stopped takes up the
rollouts of its evaluations, too: those of its training are on record in the store anyway. Secrets are masked
before a rollout is written.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic import ValidationError

from trainer.domain import Rollout
from trainer.redaction import redact_rollout
from xpstore.durable import sync
from xpstore.errors import XpError
from xpstore.hashing import canonical_json, content_id
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.context import ExecutionContext
    from trainer.domain import Case
    from trainer.interfaces import RolloutExecutor
    from xpstore.experience import ExperienceSet

TRAIN, EVAL = "train", "eval"
MOST_NAME = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


class Artifact(Frozen):
    """One file."""

    id: str
    world: str
    """What it was made in."""
    trial: int
    seed: int
    snapshot: str
    training: bool
    rollout: Rollout


class KeepingExecutor:
    """RolloutExecutor that keeps what another one makes, and makes nothing again that it has kept."""

    def __init__(self, inner: RolloutExecutor, folder: Path, world: str) -> None:
        """`world` is an id that changes whenever a rollout could."""
        self._inner = inner
        self._folder = folder
        self._world = world

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        """Return one rollout per case, in order; raises what the other one raises, and XpError: no room."""
        return [await self._one(case, policy_set, context) for case in cases]

    async def _one(self, case: Case, policy_set: ExperienceSet, context: ExecutionContext) -> Rollout:
        what: JsonValue = [self._world, case.id, context.seed, context.policy_snapshot_id, context.training]
        key = content_id(what)  # the pages of a commit are the same for ever
        number = context.metadata.get("trial")
        trial = number if isinstance(number, int) else 0
        file = self._file(case, trial, key, training=context.training)
        known = await asyncio.to_thread(_read, file)
        if known is not None and known.id == key:
            return known.rollout.model_copy(update={"case": case})
        [rollout] = await self._inner.execute([case], policy_set, context)
        kept = Artifact(
            id=key,
            world=self._world,
            trial=trial,
            seed=context.seed,
            snapshot=context.policy_snapshot_id,
            training=context.training,
            rollout=rollout,
        )
        await asyncio.to_thread(_keep, file, kept)
        return rollout

    def _file(self, case: Case, trial: int, key: str, *, training: bool) -> Path:
        name = _UNSAFE.sub("_", case.name)[:MOST_NAME]
        return self._folder / (TRAIN if training else EVAL) / f"{name}.{trial}.{key[:12]}.json"


def artifacts(folder: Path) -> Iterator[Artifact]:
    """Yield what is kept in a folder, sorted by name; what is none of it is passed over."""
    for kind in (TRAIN, EVAL):
        place = folder / kind
        for file in sorted(place.glob("*.json")) if place.is_dir() else ():
            if (found := _read(file)) is not None:
                yield found


def _read(file: Path) -> Artifact | None:
    """Return what a file has; None where there is none, or something else."""
    try:
        return Artifact.model_validate(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError, ValidationError):
        return None


def _keep(file: Path, made: Artifact) -> None:
    """Write a rollout, redacted: whole, or not at all."""
    kept = made.model_copy(update={"rollout": redact_rollout(made.rollout)})
    new = file.with_suffix(f".{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(canonical_json(kept.model_dump(mode="json")) + b"\n")
        sync([str(new)])
        new.replace(file)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise XpError(f"cannot write {file}: {error.strerror or error}", hint="check the disk") from error
