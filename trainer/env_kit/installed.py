"""Runtimes by name: those that are installed, and any class that a file has (`module:Class`)."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, cast

from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    try:
        runtime = factory(**options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{spec} does not take its options: {error}", hint="--option NAME=VALUE") from error
    missing = [name for name in ("name", "version", "cases", "run") if not hasattr(runtime, name)]
    if missing:
        raise UsageError(
            f"{spec} is no environment: it has no {missing[0]!r}",
            hint="trainer.env_kit.runtime.EnvironmentRuntime says what one has",
        )
    return runtime


def _factory(spec: str) -> Factory:
    installed = {point.name: point for point in entry_points(group=GROUP)}
    if spec not in installed and ":" not in spec:
        names = ", ".join(sorted(installed)) or "none"
        raise UsageError(
            f"no environment to serve is called {spec!r}",
            hint=f"installed: {names}; or MODULE:CLASS, such as my_desk:MyDesk",
        )
    point = installed.get(spec) or EntryPoint(spec, spec, GROUP)
    try:
        found = point.load()
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{spec} ({point.value}) cannot be imported: {error}") from error
    if not callable(found):
        raise UsageError(f"{spec} is no class and no function", hint="MODULE:CLASS, such as my_desk:MyDesk")
    return cast("Factory", found)
