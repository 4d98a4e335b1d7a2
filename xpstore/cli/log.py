"""Show the commits that changed experiences, newest first.

REF is a branch, tag or commit, or a range A..B; without it, HEAD. Only first parents are followed, so a
merge is one entry that names the plans it brought.

--evidence takes a rollout, a note on one (trajectory) or a case by its first digits, a case by its name, or a
session, and shows the commits whose plans rest on it.

-S finds a text that a page had: the commits that add or remove it, as in git, on REF or, without it, on every
branch and in what was left out when somebody decided a merge.

JSON: {"ref", "commits": [{"commit", "author", "date", "subject", "body", "plans": [{"plan_id", "learner",
"run_id", "rollouts", "reverts": [plan id]}], "merged_plans": [plan id], "changes": [{"change":
"A"|"M"|"D"|"R", "name", "old_name"}]}]}
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import emit, note, paint, shortened, to_terminal
from xpstore.cli.pager import page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.events import Entry
    from xpstore.location import Location


class CountedCommand(click.Command):
    """A command where `-5` means `-n 5`, as in git."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite `-<digits>` before `--`, then parse."""
        end = args.index("--") if "--" in args else len(args)
        counted = [re.sub(r"^-(\d+)$", r"-n\1", arg) for arg in args[:end]]
        return super().parse_args(ctx, counted + args[end:])


@click.command(cls=CountedCommand, help=__doc__)
@click.argument("given", default="", metavar="[REF|A..B]")
@click.option(
    "-n", "--max-count", "limit", type=click.IntRange(min=0), metavar="N", help="At most N commits."
)
@click.option("--oneline", is_flag=True, help="One line per commit.")
@click.option("--experience", metavar="NAME", help="Only commits that changed it, also under older names.")
@click.option("--run", metavar="ID", help="Only commits with plans of this training run.")
@click.option("--evidence", metavar="ID", help="Only commits with plans that rest on it.")
@click.option("-S", "text", metavar="TEXT", help="Only commits that add or remove this text, anywhere.")
@json_option
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    given: str,
    *,
    limit: int | None,
    experience: str | None,
    run: str | None,
    evidence: str | None,
    text: str | None,
    oneline: bool,
    as_json: bool,
) -> None:
    """List; see the module's docstring."""
    from xpstore import history

    location = app.location()
    ref = given or "HEAD"
    plans = _resting_on(location, evidence) if evidence is not None else frozenset()

    def keep(entry: Entry) -> bool:
        is_cited = evidence is None or not plans.isdisjoint(entry.plan_ids)
        return is_cited and (run is None or bool(history.plans_of_run(entry, run)))

    chosen = keep if (run, evidence) != (None, None) else None
    entries: Iterator[Entry]
    if text is not None:
        said = _saying(location, text, given)
        named = (e for e in said if experience is None or experience in e.names)
        entries = islice(filter(chosen, named) if chosen else named, limit)
    else:
        entries = history.log(location, ref, name=experience, limit=limit, keep=chosen)
    if text is None and run is not None:
        entries = iter(list(entries) or _none_of_run(location, run, ref))
    if text is None and experience is not None:
        entries = iter(list(entries) or none_of(location, experience, ref))
    if as_json:
        emit({"ref": ref, "commits": [as_object(entry) for entry in entries]})
        return
    names = decorations(location) if to_terminal() else {}
    if oneline:
        page((_line(entry, names) for entry in entries), app.pager())
    else:
        page((line for entry in entries for line in (*heading(entry, names), "")), app.pager())


def _saying(location: Location, text: str, spec: str) -> Iterator[Entry]:
    from xpstore import left_out
    from xpstore.errors import UsageError

    if not text:
        raise UsageError("-S needs a text to look for")
    return left_out.saying(location, text, spec)


def _resting_on(location: Location, evidence: str) -> frozenset[str]:
    """Return the plans that rest on a piece of evidence; say so where there are none."""
    from xpstore import citing

    cited = citing.find(location, evidence)
    if not cited.plans:
        note(f"no plan rests on {cited.kind} {cited.id}")
    return cited.plans


def _none_of_run(location: Location, run: str, spec: str) -> tuple[()]:
    """Return no commits. Raises NotFoundError where the run has none in the whole history either."""
    from xpstore import events, history
    from xpstore.errors import NotFoundError

    tips = [events.tip_of(revision) for revision in events.revisions(location, spec)]

    def is_of_run(entry: Entry) -> bool:
        return bool(history.plans_of_run(entry, run))

    if not any(next(history.log(location, tip, limit=1, keep=is_of_run), None) for tip in tips):
        raise NotFoundError(
            f"there is no plan of a run '{run}' in {spec}", hint="xp log --json has the run of every plan"
        )
    return ()


def none_of(location: Location, name: str, *specs: str) -> tuple[()]:
    """Return no commits, for an experience that the commits or ranges do not change.

    Raises NotFoundError where their whole history, from the beginning, has no experience of this name.
    """
    from xpstore import events, history
    from xpstore.errors import NotFoundError

    tips = [events.tip_of(revision) for spec in specs for revision in events.revisions(location, spec)]
    if not any(next(history.log(location, tip, name=name, limit=1), None) for tip in tips):
        where = " and ".join(dict.fromkeys(specs))
        raise NotFoundError(
            f"there never was an experience '{name}' in {where}", hint="'xp search' finds experiences."
        )
    return ()


def decorations(location: Location) -> dict[str, list[str]]:
    """Return commit id → the names of the branches and tags on it."""
    names: dict[str, list[str]] = {}
    for prefix in ("refs/heads/", "refs/tags/", "refs/remotes/"):
        for ref, commit in location.repo.refs(prefix).items():
            names.setdefault(commit, []).append(ref.removeprefix(prefix))
    return names


def _title(entry: Entry, names: dict[str, list[str]], length: int) -> str:
    refs = names.get(entry.commit)
    shown = paint(f" ({', '.join(refs)})", "green") if refs else ""
    return paint(shortened(entry.commit, length), "yellow") + shown


def _line(entry: Entry, names: dict[str, list[str]]) -> str:
    return f"{_title(entry, names, 9)} {paint(entry.subject)}"


def heading(entry: Entry, names: dict[str, list[str]]) -> Iterator[str]:
    """Yield what a reader should know of a commit before its diff: who, when, which plans, the message."""
    yield f"{paint('commit', 'yellow')} {_title(entry, names, 40)}"
    for stamp in entry.stamps:
        taught = f", {stamp.get('Rollouts')}" if stamp.get("Rollouts") else ""
        yield paint(f"Plan:    {stamp.plan_id} ({stamp.get('Learner') or 'unknown learner'}{taught})")
        for reverted in stamp.fields.get("Reverts-Plan", ()):
            yield paint(f"Reverts: {reverted}")
    for plan_id in merged_plans(entry):
        yield paint(f"Merges:  {plan_id}")
    yield paint(f"Author:  {entry.author} <{entry.email}>")
    yield f"Date:    {when(entry.time)}"
    yield ""
    for line in (entry.subject, "", *entry.body.split("\n")) if entry.body else (entry.subject,):
        yield paint(f"    {line}".rstrip())
    yield ""
    for change in entry.changes:
        old = f" (was {change.old_name})" if change.old_name != change.name else ""
        yield paint(f"  {change.kind} {change.name}{old}")


def merged_plans(entry: Entry) -> list[str]:
    """Return the plans that a merge brought from its side."""
    own = {stamp.plan_id for stamp in entry.stamps}
    return [plan_id for plan_id in entry.plan_ids if plan_id not in own]


def as_object(entry: Entry) -> dict[str, object]:
    """Return a commit as the `--json` answers show it."""
    return {
        "commit": entry.commit,
        "author": entry.author,
        "date": when(entry.time),
        "subject": entry.subject,
        "body": entry.body,
        "plans": [
            {
                "plan_id": stamp.plan_id,
                "learner": stamp.get("Learner"),
                "run_id": stamp.get("Run-Id"),
                "rollouts": stamp.get("Rollouts"),
                "reverts": list(stamp.fields.get("Reverts-Plan", ())),
            }
            for stamp in entry.stamps
        ],
        "merged_plans": merged_plans(entry),
        "changes": [{"change": c.kind, "name": c.name, "old_name": c.old_name} for c in entry.changes],
    }


def when(time: int) -> str:
    """Return a time, seconds since 1970, as the `--json` answers write it."""
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")
