"""Runtimes by name: those that are installed, and any class that a file has (`module:Class`)."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, cast

from trainer.env_kit.foreign import reason, where
from xpstore.errors import UsageError, XpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import JsonValue

    from trainer.env_kit.runtime import EnvironmentRuntime

    Factory = Callable[..., EnvironmentRuntime]

GROUP = "xpstore.runtimes"
"""The entry-point group: name → a class or function that takes options as keywords and gives the runtime."""


def runtimes() -> dict[str, str]:
    """Return name → where it is, of all that are installed, sorted."""
    return {point.name: point.value for point in sorted(entry_points(group=GROUP))}


def load_runtime(spec: str, options: Mapping[str, JsonValue]) -> EnvironmentRuntime:
    """Return the runtime of this name, or of `module:Class`, made with its options.

    Raises UsageError: there is none, it cannot be imported, it does not take the options, it is no runtime.
    """
    factory = _factory(spec)
    with _blamed(spec, "cannot be made"):
        runtime = _made(factory, spec, options)
        missing = [name for name in ("name", "version", "cases", "run") if not hasattr(runtime, name)]
        texts = [name for name in ("name", "version") if not isinstance(getattr(runtime, name, ""), str)]
    hint = "trainer.env_kit.runtime.EnvironmentRuntime says what one has"
    if missing:
        raise UsageError(f"{spec} is no environment: it has no {missing[0]!r}", hint=hint)
    if texts:
        raise UsageError(f"{spec} is no environment: its {texts[0]} is no text", hint=hint)
    return runtime


def _made(factory: Factory, spec: str, options: Mapping[str, JsonValue]) -> EnvironmentRuntime:
    try:
        return factory(**options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{spec} does not take its options: {error}", hint="--option NAME=VALUE") from error


@contextmanager
def _blamed(spec: str, what: str) -> Iterator[None]:
    """Say of whatever an author's code raises, sys.exit() and all, that it is the author's: a UsageError."""
    try:
        yield
    except (XpError, KeyboardInterrupt):  # to load a model takes long enough to be interrupted
        raise
    except BaseException as error:  # as the docstring says
        message = f"{spec} {what}: {reason(error)}"
        raise UsageError(message, hint=f"it comes from {where(error)}") from error


def _factory(spec: str) -> Factory:
    installed = {point.name: point for point in entry_points(group=GROUP)}
    if spec not in installed and ":" not in spec:
        names = ", ".join(sorted(installed)) or "none"
        raise UsageError(
            f"no environment to serve is called {spec!r}",
            hint=f"installed: {names}; or MODULE:CLASS, such as my_desk:MyDesk",
        )
    point = installed.get(spec) or EntryPoint(spec, spec, GROUP)
    if point.pattern.match(point.value) is None:
        raise UsageError(f"{spec} names no class", hint="MODULE:CLASS, such as my_desk:MyDesk")
    with _blamed(spec, "cannot be imported"):
        found = point.load()
    if not callable(found):
        raise UsageError(f"{spec} is no class and no function", hint="MODULE:CLASS, such as my_desk:MyDesk")
    return cast("Factory", found)
