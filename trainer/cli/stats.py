"""See which experiences are read, and how those rollouts came out.

For each experience: rollouts that read it, those of them that passed and failed, the lift, and the newest
commit that it was read at. Counted is what is on record: what an executor gave its agent, and calls of
read_experience in a transcript; through all versions of a page.

Lift is the share that passed where the page was read minus the share where it was not, on the cases that
have both, each case with the weight n1 * n0 / (n1 + n0) (Mantel and Haenszel); the 95 % interval is
Newcombe's (1998, method 10) with effective sample sizes (Kish). It is an association, and no proof that the
page helps: pages are read for the tasks that they fit, and policies differ in more than a page. xp gate
measures what a change does.

JSON: {"ref", "commit", "experiences": [{"name", "status": "" where the page is gone, "read", "passed",
"failed", "lift": null or {"difference", "low", "high", "cases", "read", "other"}, "last": null or {"commit",
"time"}}]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import emit, paint, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.uses import Lift, Use

HEADS = ("read", "passed", "failed", "lift", "95 % interval", "cases", "last read at")


@click.command("stats", help=__doc__)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--ref", metavar="REF", help="Where the pages are.  [default: the main branch]")
@json_option
@pass_app
def command(app: App, names: tuple[str, ...], *, ref: str | None, as_json: bool) -> None:
    """Count; see the module's docstring."""
    from xpstore.errors import NotFoundError
    from xpstore.snapshot import snapshot
    from xpstore.uses import uses

    location = app.location()
    policy = snapshot(location, ref or location.main_ref)
    statuses = {name: page.status for name, page in policy.by_name.items()}
    found = {use.name: use for use in uses(location, statuses)}
    for name in names:
        if name not in found:
            raise NotFoundError(
                f"there is no experience '{name}', and none was read",
                hint=f"'{app.typed()} stats' without a name lists all",
            )
    shown = [found[name] for name in dict.fromkeys(names)] if names else list(found.values())
    if as_json:
        rows = [_row(use, statuses.get(use.name, "")) for use in shown]
        emit({"ref": ref or location.config.main, "commit": policy.snapshot_id, "experiences": rows})
        return
    for line in _table(sorted(shown, key=lambda use: (-use.read, use.name)), statuses):
        click.echo(line)


def _row(use: Use, status: str) -> dict[str, object]:
    return {
        "name": use.name,
        "status": status,
        "read": use.read,
        "passed": use.passed,
        "failed": use.failed,
        "lift": None if use.lift is None else _lift(use.lift),
        "last": {"commit": use.last, "time": _day(use.last_time)} if use.last else None,
    }


def _lift(lift: Lift) -> dict[str, object]:
    return {
        "difference": round(lift.difference, 6),
        "low": round(lift.low, 6),
        "high": round(lift.high, 6),
        "cases": lift.cases,
        "read": lift.read,
        "other": lift.other,
    }


def _table(shown: Sequence[Use], statuses: Mapping[str, str]) -> Iterator[str]:
    from xpstore.experience import SERVED

    if not shown:
        yield "There are no experiences."
        return
    rows = [HEADS, *map(_cells, shown)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells, use in zip(rows, (None, *shown), strict=True):
        line = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        if use is None:
            yield f"{line}  experience"
            continue
        status = statuses.get(use.name, "gone")
        remark = "" if status in SERVED else f" ({status})"
        yield f"{line}  {paint(use.name, 'yellow')}{paint(remark)}"


def _cells(use: Use) -> tuple[str, ...]:
    lift = use.lift
    counts = (str(use.read), str(use.passed), str(use.failed))
    last = shortened(use.last)
    if lift is None:
        return (*counts, "", "", "", last)
    between = f"{100 * lift.low:+.0f} to {100 * lift.high:+.0f}"
    return (*counts, f"{100 * lift.difference:+.1f}", between, str(lift.cases), last)


def _day(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat()
