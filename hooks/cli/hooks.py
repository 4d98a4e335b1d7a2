"""Install the hooks of git, take them out, see what is at work."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hooks.cli.opening import repository
from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import emit, paint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.doctor import Report
    from hooks.install import Step

_NAMES = ("pre-commit", "pre-merge-commit", "commit-msg", "pre-push", "post-merge", "pre-receive", "update")


_SERVER_NEXT = (
    "",
    "Next:",
    '  git config xp.allowedSigners FILE   (here: the keys whose decisions count, namespaces="xp-gate")',
    "  git config xp.signGates true        (where the gate runs: sign its records with user.signingKey)",
    "  xp gate BRANCH --hold               (or decide here: what this server holds needs no signature)",
)


@click.group("hooks", help=__doc__)
def command() -> None:
    """Group; see the module's docstring."""


@command.command("install", short_help="Put a small script in place for each hook.")
@click.option("--server", is_flag=True, help="What checks pushes, in the repository that is pushed to.")
@click.option("--hook", "only", multiple=True, type=click.Choice(_NAMES), help="Only this one; repeatable.")
@click.option("--shared", is_flag=True, help="Also where other repositories or clones run the same files.")
@click.option("--no-drivers", is_flag=True, help="Leave merge driver and attributes as they are.")
@json_option
@pass_app
def install_command(  # noqa: PLR0913  # the options of the verb
    app: App, only: tuple[str, ...], *, server: bool, shared: bool, no_drivers: bool, as_json: bool
) -> None:
    """Put a small script for each hook into the folder that git runs hooks from.

    A hook that is there already is kept and runs first. In a clone, git is also told to merge pages by
    statement (.git/config and .git/info/attributes; no file of the project is changed).

    On a server, git config says whose word counts: `xp.allowedSigners FILE` names the keys (ssh-keygen's
    format, `namespaces="xp-gate"`) whose decisions of the gate are believed; where these are made,
    `xp.signGates true` signs them with user.signingKey. `xp gate --hold` on the server needs neither. What is
    signed or held was measured there; `xp.ownFigures true` reuses nothing else in any gate (CI sets it).
    xp.requireSignatures asks for signed commits. No push changes by what the next one is judged ([gate],
    [limits], [environment], [evaluation], [sign] and [duplicates] of xp.toml, the cases of the gate):
    xp.allowGateChange true lets it. On a branch that agents read, no push brings a store more
    (xp.allowNewStores true lets it), a second xp.toml with a store's id, or another store into a store's
    folder; a store moves to a new folder as it is. Names that git would take for such a branch, as a tag
    `main`, are refused. xp.requireGate false takes experiences that no gate has accepted.
    receive.unpackLimit is set to 1 where it is not set: a push is one pack then, which no gc breaks up.
    --hook update is for servers that allow nothing else: evidence must be pushed before main then.

    JSON: {"hooks": [{"hook", "action": "installed", "chained", "renewed" or "unchanged", "kept"}],
    "drivers": [what was set up]}
    """
    from hooks import drivers, install, shim
    from xpstore import location

    repo = repository(app)
    steps = install.install(repo, only or (shim.SERVER if server else shim.CLIENT), program(), shared=shared)
    stores = [] if server or no_drivers else location.stores(repo)
    _report(steps, [name for store in stores for name in drivers.install(store)], as_json=as_json)
    if server and not as_json:
        for line in _SERVER_NEXT:
            click.echo(line)


@command.command("uninstall", short_help="Take them out, and put back what was there.")
@click.option("--shared", is_flag=True, help="Also where other repositories or clones run the same files.")
@json_option
@pass_app
def uninstall_command(app: App, *, shared: bool, as_json: bool) -> None:
    """Take them out again, and give the hooks that were there before their names back.

    JSON: {"hooks": [{"hook", "action": "removed", "restored" or "left", "kept"}], "drivers": [what went]}
    """
    from hooks import drivers, install
    from xpstore import location

    repo = repository(app)
    steps = install.uninstall(repo, shared=shared)
    _report(
        steps, [name for store in location.stores(repo) for name in drivers.uninstall(store)], as_json=as_json
    )


@command.command("doctor", short_help="Say of each hook whether it is at work.")
@json_option
@click.pass_context
@pass_app
def doctor_command(app: App, ctx: click.Context, *, as_json: bool) -> None:
    """Say of each hook whether it is declared, registered, resolvable and effective.

    Exit code 1 when one that was installed is not at work.

    JSON: {"folder", "scope", "shared_with", "hooks": [{"hook", "declared", "registered", "resolvable",
    "effective", "kept", "problems": [text]}], "left_over": [file], "merging": {folder of a store: {"driver",
    "attributes", "effective"}}}
    """
    from hooks import doctor, drivers
    from xpstore import location

    repo = repository(app)
    report = doctor.examine(repo, program())
    merged = [] if repo.workdir is None else location.stores(repo)  # nothing is merged in a bare repository
    merging = {store.prefix or ".": drivers.state(store) for store in merged}
    if as_json:
        where = report.folder
        emit(
            {
                "folder": str(where.path),
                "scope": where.scope,
                "shared_with": where.shared_with,
                "hooks": [asdict(hook) for hook in report.hooks],
                "left_over": list(report.left_over),
                "merging": merging,
            }
        )
    else:
        for line in _examined(report, merging):
            click.echo(paint(line))
    ctx.exit(1 if any(hook.is_lost for hook in report.hooks) else 0)


def program() -> str:
    """Return where xp is: what hooks fall back to where it is not on PATH."""
    beside = Path(sys.executable).with_name("xp")
    return str(beside) if beside.is_file() else shutil.which("xp") or str(beside)


def _report(steps: list[Step], drivers: list[str], *, as_json: bool) -> None:
    if as_json:
        emit({"hooks": [asdict(step) for step in steps], "drivers": drivers})
        return
    for step in steps:
        kept = f" ({step.kept})" if step.action in {"chained", "left"} else ""
        click.echo(paint(f"{step.action:10}{step.hook}{kept}"))
    for name in drivers:
        click.echo(f"{'changed':10}{name}")
    if not steps and not drivers:
        click.echo("Nothing to do")


def _examined(report: Report, merging: dict[str, dict[str, bool]]) -> Iterator[str]:
    where = report.folder
    shared = f", run by {where.shared_with}" if where.shared_with else ""
    yield f"Hooks are run from {where.path} ({where.scope}{shared})"
    for hook in report.hooks:
        said = {name: getattr(hook, name) for name in ("declared", "registered", "resolvable", "effective")}
        yield f"  {hook.hook:17}" + "  ".join(
            name if is_so else f"not {name}" for name, is_so in said.items()
        )
        for problem in hook.problems:
            yield f"    {problem}"
    if not report.hooks:
        yield "  none of ours (xp hooks install)"
    for name in report.left_over:
        yield f"  left over: {name}"
    for store, state in merging.items():
        yield f"Pages of the store in {store} are merged by {'statement' if state['effective'] else 'line'}"
