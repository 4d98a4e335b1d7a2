"""What runs on a worker of a cluster. Everything goes in and comes out as text (JSON of our values).

A worker keeps what is dear to make: the world, the policy at a commit, and an event loop for the agents.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter

from trainer.context import ExecutionContext, ExperienceGradientContext
from trainer.domain import Case, Rollout, RolloutAnalysis, RubricEvaluation
from trainer.environment import world_of
from trainer.errors import ComponentError, NothingToNoteError, UnscoredError
from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor
from xpstore.errors import XpError
from xpstore.experience import ExperienceSet
from xpstore.location import Location
from xpstore.pinned import fetched
from xpstore.settings import EnvironmentSettings, LlmSettings
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from trainer.environment import Environment
    from xpstore.config import StoreConfig

_KINDS: dict[str, Callable[[str], XpError]] = {
    "unscored": UnscoredError,
    "nothing": NothingToNoteError,
    "error": ComponentError,
}
POLICIES = 4
"""Snapshots that a worker keeps: those of the epoch before, of this one, and of an evaluation."""
T = TypeVar("T")
_ANALYSES = TypeAdapter(list[RolloutAnalysis])


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function here made, or why it could not."""

    text: str
    kind: str = ""
    """Empty = it is made; else what was raised: a key of `_KINDS`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker finds the policy: a store in a repository that it can fetch from."""

    url: str
    prefix: str
    config: StoreConfig


def raised(answer: Answer) -> XpError:
    """Return the error that an answer tells of."""
    return _KINDS[answer.kind](answer.text)


def play(  # noqa: PLR0913, PLR0917  # a task's arguments go one by one
    place: Place, world: str, code: str, commit: str, case: str, context: str
) -> Answer:
    """Let the agent of a world work on a case under the policy at a commit; the answer is a Rollout.

    `world` is `world_text`, `code` that of the environment: a worker with another one would make scores that
    stand under a wrong key. `case` is a Case, `context` an ExecutionContext.
    """
    try:
        environment = _world(world)
        if environment.code != code:
            return Answer(
                f"the worker has other code of {environment.name}: the same xpstore must be on all machines",
                "error",
            )
        rollouts = worker().run(
            environment.executor().execute(
                [Case.model_validate_json(case)],
                worker().policy(place, commit),
                ExecutionContext.model_validate_json(context),
            )
        )
    except UnscoredError as error:
        return Answer(error.message, "unscored")
    except XpError as error:
        return Answer(error.message, "error")
    except (Exception, SystemExit) as error:  # noqa: BLE001  # agents are anybody's code: one failure is data
        return Answer(f"{type(error).__name__}: {error}", "error")
    if len(rollouts) != 1:
        return Answer(f"the executor returned {len(rollouts)} rollouts for one case", "error")
    return Answer(rollouts[0].model_dump_json())


def extract(rollout: str, evaluation: str) -> Answer:
    """Write the notes on a Rollout; the answer is a list of Trajectories. No evaluation: an empty text."""
    scored = RubricEvaluation.model_validate_json(evaluation) if evaluation else None
    try:
        notes = worker().run(OfflineExtractor().extract(Rollout.model_validate_json(rollout), scored))
    except NothingToNoteError as error:
        return Answer(error.message, "nothing")
    except XpError as error:
        return Answer(error.message, "error")
    return Answer(json.dumps([note.model_dump(mode="json") for note in notes]))


def edit(analyses: str, policy: str, context: str) -> Answer:
    """Propose edits to an ExperienceSet; the answer is an EditResult."""
    try:
        result = worker().run(
            OfflineEditor().edit(
                _ANALYSES.validate_json(analyses),
                ExperienceSet.model_validate_json(policy),
                ExperienceGradientContext.model_validate_json(context),
            )
        )
    except XpError as error:
        return Answer(error.message, "error")
    return Answer(result.model_dump_json())


def world_text(environment: EnvironmentSettings, llm: LlmSettings) -> str:
    """Return what makes the same world elsewhere: the settings of xp.toml, without any key."""
    told = {name: getattr(llm, name) for name in LlmSettings.__dataclass_fields__}
    return json.dumps([environment.name, dict(environment.options), told], sort_keys=True)


@cache
def _world(text: str) -> Environment:
    name, options, llm = json.loads(text)
    return world_of(EnvironmentSettings(name, options), LlmSettings(**llm)).environment


class Worker:
    """What a process of a cluster keeps: the policies that it has read, and an event loop.

    Connections of an agent to its model live as long as the loop; what was fetched goes with the process.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._folder = tempfile.TemporaryDirectory(prefix="xpstore-")
        self._policies: dict[tuple[Place, str], ExperienceSet] = {}

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Return what a coroutine returns."""
        return self._runner.run(work)

    def policy(self, place: Place, commit: str) -> ExperienceSet:
        """Return the policy at a commit. Raises RepositoryError where it cannot be fetched."""
        if (place, commit) not in self._policies:
            folder = Path(self._folder.name) / sha256(place.url.encode()).hexdigest()[:16]
            at = Location(fetched(folder, place.url, commit), place.prefix, place.config)
            kept = list(self._policies.items())[1 - POLICIES :]
            self._policies = {**dict(kept), (place, commit): snapshot(at, commit)}
        return self._policies[place, commit]

    def close(self) -> None:
        """Let all of it go."""
        self._runner.close()
        self._folder.cleanup()


@cache
def worker() -> Worker:
    """Return this process's."""
    return Worker()
