"""Show how the store stands: experiences, candidates, rollouts.

JSON: {"store": {"id", "name", "prefix", "repository", "main"}, "branch", "commit", "statuses": {status:
count}, "unreadable": {name: why}, "candidates": [{"branch", "plans"}], "rollouts", "open_rollouts",
"conflicts": [branch], "only_local": [branch]}
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import counted, emit, paint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.location import Location
    from xpstore.overview import Overview


@click.command(help=__doc__)
@json_option
@pass_app
def command(app: App, *, as_json: bool) -> None:
    """Report; see the module's docstring."""
    from xpstore.overview import overview

    location = app.location()
    now = overview(location)
    if as_json:
        config = location.config
        store = {"id": config.id, "name": config.name, "prefix": location.prefix, "main": config.main}
        emit({"store": {**store, "repository": str(location.repo.place)}, **asdict(now)})
        return
    for line in _lines(location, now):
        click.echo(line)


def _lines(location: Location, now: Overview) -> Iterator[str]:
    config = location.config
    yield paint(f"On branch {now.branch}" if now.branch else f"HEAD detached at {now.commit[:9]}")
    name = f" '{config.name}'" if config.name else ""
    place = f", in {location.prefix}/" if location.prefix else ""
    yield paint(f"Store{name} {config.id}{place}; agents read {config.main}")
    total = sum(now.statuses.values())
    counts = ", ".join(f"{count} {status}" for status, count in now.statuses.items())
    yield f"{counted(total, 'experience')}{f': {counts}' if counts else ''}"
    for name, why in now.unreadable.items():
        yield paint(f"  not an experience: {name}: {why}", "yellow")
    if now.rollouts:
        waiting = f", {now.open_rollouts} not learned from yet" if now.open_rollouts else ""
        yield f"{counted(now.rollouts, 'rollout')} on record{waiting}"
    if now.candidates:
        yield "Candidates:"
        for candidate in now.candidates:
            yield f"  {paint(candidate.branch, 'green')}  {counted(candidate.plans, 'commit')}"
        yield paint(f"  (git diff {config.main}...{now.candidates[0].branch} to review)")
        yield paint(f"  (xp land {now.candidates[0].branch} to accept)")
    if now.conflicts:
        yield "Conflicts that wait for a decision:"
        for branch in now.conflicts:
            yield paint(f"  {branch}", "red")
        yield paint(f"  (xp resolve {now.conflicts[0]} to decide)")
    if now.only_local:
        remotes = location.repo.remotes
        how = "xp sync and xp publish share it" if remotes else "there is no remote"
        yield paint(f"Only local: {', '.join(now.only_local)} ({how})")
