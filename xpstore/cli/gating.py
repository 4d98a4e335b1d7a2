"""How a decision gets to main: `xp revert` and the verbs that change a status ask the gate that is installed.

The store measures nothing. An entry point of the group `xpstore.gates` does: a function of the directory, the
store's name, its location and the branch, which returns a gate, or a sentence that says why there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import click

from xpstore.cli.output import note
from xpstore.errors import RepositoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xpstore.cli.app import App
    from xpstore.decision import Gating
    from xpstore.landing import Gate
    from xpstore.location import Location

    Decorated = TypeVar("Decorated", bound=Callable[..., None])
    Factory = Callable[[Path, str | None, Location, str], Gate | str]

GROUP = "xpstore.gates"
NO_GATE = "--no-gate was given"


def gating_options(command: Decorated) -> Decorated:
    """Add the options of a decision that may have to pass a gate."""
    for option in (
        click.option("--no-gate", is_flag=True, help="Commit on main without a measurement; on record."),
        click.option("--no-land", is_flag=True, help="Leave it on a branch of its own, for xp land."),
    ):
        command = option(command)
    return command


def gating_of(  # noqa: PLR0913  # the options of the verbs
    app: App, location: Location, branch: str, *, no_gate: bool, no_land: bool, dry_run: bool
) -> Gating | None:
    """Return how a decision gets to a branch; None: it is committed there, and nobody is asked.

    Only main has a gate, and only where xp.toml names an environment to measure in.
    """
    is_main = branch.removeprefix("refs/heads/") == location.config.main
    if no_land and not is_main:
        raise UsageError("--no-land is for main", hint=f"{branch} is a branch that can be landed already")
    if dry_run or not is_main or not (no_land or _has_environment(location, branch)):
        return None

    from xpstore.decision import Gating

    if no_land:
        return Gating(lands=False)
    found = NO_GATE if no_gate else _installed(app, location, branch)
    return Gating(ungated=found) if isinstance(found, str) else Gating(found)


def _has_environment(location: Location, branch: str) -> bool:
    """Return whether there is something to measure in: main says so, whatever is checked out."""
    tip = location.tip_of(branch)
    config = location.config_at(tip) if tip else location.config
    return bool(config.environment.name)


def tell(verdict: str) -> None:
    """Say why the gate accepts a decision, where one was asked."""
    if verdict:
        note(f"gate: accept: {verdict}")


def _installed(app: App, location: Location, branch: str) -> Gate | str:
    from importlib.metadata import entry_points  # reads every package that is installed

    for point in entry_points(group=GROUP):
        try:
            factory = cast("Factory", point.load())
        except (ImportError, AttributeError) as error:
            raise RepositoryError(
                f"the gate ({point.value}) does not load: {error}", hint="--no-gate goes without it"
            ) from error
        return factory(app.cwd, app.store, location, branch)
    return "no gate is installed"
