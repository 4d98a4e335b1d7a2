"""Let a CI system gate, comment on and land pull requests."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import emit, note, paint
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hooks.ci_comment import Request
    from hooks.ci_init import Planned, Site
    from xpstore.location import Location

_SAID = {"new": "wrote", "changed": "wrote over", "unchanged": "is as it should be:", "theirs": "left alone:"}
_WOULD = {**_SAID, "new": "would write", "changed": "would write over"}


@click.group("ci", help=__doc__)
def command() -> None:
    """Group; see the module's docstring."""


@command.command("init", short_help="Write the files that a hosting site needs.")
@click.argument(
    "site", type=click.Choice(["github", "gitlab", "pre-commit"]), required=False, metavar="[SITE]"
)
@click.option(
    "--install",
    "requirement",
    default="",
    metavar="REQ",
    help="What pip installs there.  [default: this xpstore, by its address or version]",
)
@click.option("--force", is_flag=True, help="Write over files of the same names that say something else.")
@dry_run_option
@json_option
@pass_app
def init_command(  # noqa: PLR0913  # the options of the verb
    app: App, site: Site | None, requirement: str, *, force: bool, dry_run: bool, as_json: bool
) -> None:
    """Write the files for a site: github, gitlab or pre-commit; without SITE, as the remotes say.

    GitHub gets two workflows: one gates each pull request that changes experiences, keeps the scores and
    comments; the other one lands, because no button of the site fast-forwards. GitLab gets the same as jobs
    of a merge request. pre-commit gets local hooks. Nothing is committed. A .gitlab-ci.yml or
    .pre-commit-config.yaml that is there already is left alone; what it needs is shown.

    JSON: {"site", "dry_run", "files": [{"path", "text", "state": "new", "unchanged", "changed" or "theirs"}],
    "install", "no_gate": why the gate cannot run yet, or ""}
    """
    from hooks import ci_init, ci_requirement

    location = app.location()
    chosen = site or ci_init.guess(location)
    wanted = requirement or ci_requirement.installed()
    planned = ci_init.plan(location, chosen, wanted)
    if not dry_run:
        ci_init.write(location, planned, force=force)
    if as_json:
        files = [asdict(file) for file in planned]
        found = {"site": chosen, "dry_run": dry_run, "files": files, "install": wanted}
        emit({**found, "no_gate": _no_gate(location)})
        return
    for line in _lines(planned, dry_run=dry_run):
        click.echo(paint(line))
    click.echo(paint(f"pip installs {wanted} there (--install names another)"))
    if why := _no_gate(location):
        note(f"warning: the gate cannot run yet: {why}; see [environment] of xp.toml, and write its cases")
    if not dry_run:
        click.echo("\nNext:")
        mine = [quote(file.path) for file in planned if file.state != "theirs"]
        click.echo(
            paint(f"  git add {' '.join(mine)}" if mine else "  write into it what it needs, and add it")
        )
        click.echo("  git commit -m 'Gate experiences'")
        click.echo("  git push")


def _no_gate(location: Location) -> str:
    """Return why the gate can measure nothing on main; "" where it can."""
    from trainer.gate.measure import ungateable

    main = location.tip_of(location.branch_ref(location.config.main))
    try:
        return ungateable(location, main) if main else f"there is no branch {location.config.main}"
    except UsageError as error:
        return error.message


def _lines(planned: Sequence[Planned], *, dry_run: bool) -> Iterator[str]:
    for file in planned:
        yield f"{(_WOULD if dry_run else _SAID)[file.state]} {file.path}"
        if file.state == "theirs":
            yield "  it needs:"
        if file.state == "theirs" or (dry_run and file.state != "unchanged"):
            yield from (f"    {line}".rstrip() for line in file.text.splitlines())


@command.command("comment", short_help="Write a report as the one comment of a pull request.")
@click.argument("report", metavar="REPORT")
@json_option
def comment_command(report: str, *, as_json: bool) -> None:
    """Write the file REPORT as the one comment on the pull or merge request that a CI system works on.

    A later one is written over it. A REPORT that is missing says so. What request it is, and with which
    token, is read from the variables that GitHub Actions (and GITHUB_TOKEN) or GitLab CI (and XP_TOKEN) set.

    JSON: {"site", "number", "state": "written" or "written over"}
    """
    from hooks import ci_comment

    file = Path(report)
    text = file.read_text("utf-8", errors="replace") if file.is_file() else ""
    request, url = _request(os.environ)
    state = ci_comment.put(request, text, url)
    if as_json:
        emit({"site": request.site, "number": request.number, "state": state})
    else:
        click.echo(f"{state}: the comment on number {request.number}")


def _request(env: Mapping[str, str]) -> tuple[Request, str]:
    """Return the request that a CI system works on, and the address of the run's log."""
    from hooks.ci_comment import Request

    if "GITHUB_EVENT_PATH" in env:
        event = _event(Path(env["GITHUB_EVENT_PATH"]))
        pull = event.get("pull_request") if isinstance(event, dict) else None
        number = pull.get("number") if isinstance(pull, dict) else None
        api, project, token = _all_of(env, "GITHUB_API_URL", "GITHUB_REPOSITORY", "GITHUB_TOKEN")
        run = [env.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
        url = "{}/{}/actions/runs/{}".format(*run) if all(run) else ""
        if isinstance(number, int):
            return Request("github", api.rstrip("/"), project, number, token), url
    elif "CI_MERGE_REQUEST_IID" in env:
        api, project, token = _all_of(env, "CI_API_V4_URL", "CI_PROJECT_ID", "XP_TOKEN")
        number = env["CI_MERGE_REQUEST_IID"]
        if number.isdecimal():
            return Request("gitlab", api.rstrip("/"), project, int(number), token), env.get("CI_JOB_URL", "")
    raise UsageError(
        "this is no run for a pull or merge request", hint="GitHub Actions and GitLab CI call it there"
    )


def _event(file: Path) -> object:
    """Return what GitHub says of the event that started the run."""
    try:
        found: object = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} is no event: {error}", hint="GITHUB_EVENT_PATH names it") from error
    return found


def _all_of(env: Mapping[str, str], *names: str) -> tuple[str, ...]:
    missing = [name for name in names if not env.get(name)]
    if missing:
        raise UsageError(f"{', '.join(missing)} is not set", hint="hand the token to this step as a variable")
    return tuple(env[name] for name in names)
