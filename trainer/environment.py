"""Environments: where an agent works on cases. They are installed; `[environment]` of xp.toml chooses one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import entry_points
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from xpstore.errors import UsageError
from xpstore.hashing import content_id
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from importlib.resources.abc import Traversable

    from pydantic import JsonValue

    from trainer.asking.tape import Tape
    from trainer.interfaces import RolloutExecutor
    from xpstore.settings import EnvironmentSettings

    Factory = Callable[[Mapping[str, JsonValue]], "Environment"]

GROUP = "xpstore.environments"
"""The entry-point group: name → a factory that takes the `[environment.options]` table."""


class Environment(Protocol):
    """A world with an agent in it. What decides a score has a name here, which enters the evaluation key."""

    @property
    def name(self) -> str:
        """The name under which it is installed, such as `order-desk`."""
        ...

    @property
    def agent(self) -> str:
        """Name and version of who acts, such as `scripted/1`."""
        ...

    @property
    def model(self) -> str:
        """The model behind the agent; empty = none."""
        ...

    @property
    def simulator(self) -> str:
        """The simulated user; empty = none."""
        ...

    @property
    def version(self) -> str:
        """Version of environment and agent, as people count it, with the options that change scores.

        It names runs: with another version, `xp train` draws other seeds.
        """
        ...

    @property
    def code(self) -> str:
        """What changes whenever a score could, such as `code_digest` of all modules that decide one.

        No evaluation is reused under another one. It is in no seed: two states of the code can be compared.
        """
        ...

    def executor(self) -> RolloutExecutor:
        """Return an executor that bears concurrent calls, each with cases of its own."""
        ...


@runtime_checkable
class NeedsModel(Protocol):
    """An environment in which a model may act: where its options name none, it is the store's."""

    def with_model(self, llm: LlmSettings, tape: Tape | None = None) -> Environment:
        """Return the environment with the model of `[llm]` where it needs one.

        `tape` records what the model is asked, or replays it. Raises UsageError where nobody names a model.
        """
        ...


@cache
def code_digest(*names: str) -> str:
    """Return 16 hex digits of the source of modules, and of packages with all that is in them.

    Read once per process. Raises ImportError for a name that there is not.
    """
    found = {path: source for name in names for path, source in _sources(name)}
    lines = [f"{sha256(source.read_bytes()).hexdigest()} {path}\n" for path, source in sorted(found.items())]
    return sha256("".join(lines).encode()).hexdigest()[:16]


def _sources(name: str) -> Iterator[tuple[str, Traversable]]:
    """Yield path and file of what a module or a package is made of."""
    parent, _, last = name.rpartition(".")
    if parent and (module := files(parent) / f"{last}.py").is_file():
        yield f"{name.replace('.', '/')}.py", module
    else:
        yield from _inside(name.replace(".", "/"), files(name))


def _inside(path: str, folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for item in folder.iterdir():
        if item.is_dir():
            yield from _inside(f"{path}/{item.name}", item)
        elif item.name.endswith(".py"):
            yield f"{path}/{item.name}", item


def load_environment(name: str, options: Mapping[str, JsonValue]) -> Environment:
    """Return the installed environment of this name, made with its options.

    Raises UsageError: no such environment, one that cannot be imported, options that it does not take.
    """
    installed = {point.name: point for point in entry_points(group=GROUP)}
    if name not in installed:
        names = ", ".join(sorted(installed)) or "none"
        raise UsageError(
            f"no environment is called {name!r}", hint=f"`[environment] name` in xp.toml; installed: {names}"
        )
    point = installed[name]
    try:
        factory = cast("Factory", point.load())
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"environment {name!r} ({point.value}) cannot be imported: {error}", hint="install it again"
        ) from error
    try:
        return factory(options)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"environment {name!r} does not take its options: {error}",
            hint="see `[environment.options]` in xp.toml",
        ) from error


@dataclass(frozen=True, slots=True)
class World:
    """An environment with the options of a store: other options are another world."""

    environment: Environment
    id: str
    """The name, and a hash of the options where there are any; part of the evaluation key."""


def world_id(settings: EnvironmentSettings) -> str:
    """Return what `World.id` is for these settings, installed or not; "" where they name no environment."""
    options = dict(settings.options)
    return f"{settings.name}#{content_id(options)[:8]}" if options and settings.name else settings.name


def world_of(
    settings: EnvironmentSettings, llm: LlmSettings | None = None, tape: Tape | None = None
) -> World:
    """Return the environment that a store names, with the store's model where one acts in it.

    Raises UsageError where it names none, where nobody names the model, and as above.
    """
    if not settings.name:
        raise UsageError(
            "this store names no environment, so there is nothing to run its cases in",
            hint='write `[environment]` and `name = "…"` into xp.toml; `xp train FILE` needs none',
        )
    environment = load_environment(settings.name, dict(settings.options))
    if isinstance(environment, NeedsModel):
        environment = environment.with_model(llm or LlmSettings(), tape)
    return World(environment, world_id(settings))
