"""Learn from agents over HTTP: sessions in, commits out.

Clients of OpenViking's session API work unchanged: they create a session, add messages and commit it. What is
committed is on disk before it is acknowledged, becomes rollouts, and is learned from as xp watch does. The
lessons are commits of a candidate, which xp land accepts; with --branch main they are served at once. Agents
list, read and search the experiences of --ref.

The first line of the output is the address. GET /openapi.json describes all calls.

Only this machine is served unless there are keys (xp serve key add), which are then asked of everybody. Each
key is a user of its own, for this store or another one.

SIGTERM and Ctrl-C end it: what was begun is finished or taken up by the next start. JSON: {"url", "store",
"branch", "ref", "keys": whether keys are asked for}, on one line
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from trainer.cli.learner import learner_options, take_choice
from trainer.cli.web_log import verbose_option, write_log
from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, note, paint
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trainer.service.tenants import Served
    from trainer.web.keys import Key, KeyFile
    from xpstore.location import Location

PORT = 1933
"""The port that clients of OpenViking call."""
BURST = 5
"""Seconds' worth of requests that may come at once."""
PACKAGES = frozenset({"fastapi", "starlette", "uvicorn"})

keys_option = click.option(
    "--keys",
    "keys_file",
    default="",
    metavar="FILE",
    help="The keys.  [default: a file in the git directory]",
)


@click.group("serve", help=__doc__, invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 = a free one."
)
@click.option("--branch", default="", metavar="BRANCH", help="Where lessons go.  [default: train/live]")
@click.option("--ref", default="", metavar="REF", help="What agents read.  [default: the main branch]")
@click.option(
    "--rate",
    default=200.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Requests a second of one key or address; 0 = any number.",
)
@keys_option
@learner_options
@verbose_option
@json_option
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    host: str,
    port: int,
    *,
    branch: str,
    ref: str,
    rate: float,
    keys_file: str,
    verbose: bool,
    as_json: bool,
    **learner: object,
) -> None:
    """Serve; see the module's docstring."""
    choice = take_choice(app, learner)
    if ctx.invoked_subcommand is not None:
        return
    location = app.location()  # a missing store is reported before anything heavy is loaded

    from trainer.cli.extra import extra

    with extra("serve", PACKAGES, "xp serve"):
        from trainer.service.app import make_service
        from trainer.web.run import run_app

    from trainer.service.tenants import Served
    from trainer.web.limits import WebLimits

    write_log(verbose=verbose)
    if ref:
        location.resolve(ref)
    keys = _asked(_key_file(app, keys_file), is_named=bool(keys_file))
    served = Served(app.cwd, app.store, choice, branch=branch, ref=ref)
    limits = WebLimits(per_second=rate, burst=max(int(rate * BURST), 1))
    service = make_service(served, keys=keys, limits=limits)
    tell = _teller(location, served, has_keys=keys is not None, as_json=as_json)
    ctx.exit(run_app(service, host, port, has_keys=keys is not None, announce=tell, limits=limits))


@command.group("key")
def key_group() -> None:
    """Make, list or drop the keys that callers need."""


@key_group.command("add", short_help="Make a key, and write it once.")
@click.argument("name")
@click.option(
    "--for", "path", default="", metavar="DIR", help="The store of this key.  [default: the served one]"
)
@keys_option
@dry_run_option
@json_option
@pass_app
def add_command(  # noqa: PLR0913  # the options of the verb
    app: App, name: str, path: str, keys_file: str, *, dry_run: bool, as_json: bool
) -> None:
    """Make a key and write it: it is kept nowhere and cannot be shown again.

    JSON: {"dry_run", "name", "key" (null in a dry run), "store", "file"}
    """
    from xpstore.location import Location

    file = _key_file(app, keys_file)
    store = ""
    if path:
        at = (app.cwd / path).resolve()
        Location.find(at)
        store = str(at)
    file.check_new(name)
    key = None if dry_run else file.add(name, store)
    if as_json:
        emit({"dry_run": dry_run, "name": name, "key": key, "store": store, "file": str(file.path)})
        return
    if key is None:
        click.echo(f"Would make a key named '{name}'")
        return
    click.echo(key)
    note(f"That is the key of '{name}'; it is not shown again.")
    note(
        "A service that runs takes it up at once."
        if not path
        else "A service opens its store when it starts."
    )


@key_group.command("list")
@keys_option
@json_option
@pass_app
def list_command(app: App, keys_file: str, *, as_json: bool) -> None:
    """List the keys: names and stores.

    JSON: {"keys": [{"name", "store"}], "file"}
    """
    file = _key_file(app, keys_file)
    keys = file.read()
    if as_json:
        emit({"keys": [{"name": key.name, "store": key.store} for key in keys], "file": str(file.path)})
        return
    for line in _listed(keys):
        click.echo(line)


@key_group.command("drop")
@click.argument("name")
@keys_option
@dry_run_option
@json_option
@pass_app
def drop_command(app: App, name: str, keys_file: str, *, dry_run: bool, as_json: bool) -> None:
    """Drop a key: it stops working at once. What its user has said stays.

    JSON: {"dry_run", "name"}
    """
    file = _key_file(app, keys_file)
    file.drop(name, dry_run=dry_run)
    if as_json:
        emit({"dry_run": dry_run, "name": name})
        return
    click.echo(f"{'Would drop' if dry_run else 'Dropped'} the key of '{name}'")


def _key_file(app: App, named: str) -> KeyFile:
    """Return the file that is named, which may be that of an environment, or the one of the store here."""
    from trainer.web.keys import KeyFile

    if named:
        return KeyFile(app.cwd / named)
    location = app.location()
    return KeyFile(location.repo.common_dir / "xpstore.service" / f"{location.config.id}.keys.json")


def _asked(file: KeyFile, *, is_named: bool) -> KeyFile | None:
    """Return the file if keys are asked for: where there is one.

    Raises UsageError for one without a key: nobody could call, and to serve all would not be what it says.
    """
    if not is_named and not file.path.exists():
        return None
    if not file.read():
        raise UsageError(
            f"there is no key in {file.path}",
            hint="xp serve key add NAME makes one; without the file none is asked",
        )
    return file


def _listed(keys: tuple[Key, ...]) -> Iterator[str]:
    yield counted(len(keys), "key")
    for key in keys:
        yield f"  {paint(key.name, 'yellow')}{paint(f'  for {key.store}') if key.store else ''}"


def _teller(location: Location, served: Served, *, has_keys: bool, as_json: bool) -> Callable[[str], None]:
    """Return what says where the service is, once it is."""
    from trainer.streaming import LIVE

    branch = served.branch or f"{location.candidate_prefix}{LIVE}"
    ref = served.ref or location.config.main

    def tell(url: str) -> None:
        if as_json:
            row = {"url": url, "store": location.config.id, "branch": branch, "ref": ref, "keys": has_keys}
            click.echo(json.dumps(row))
            return
        click.echo(url)
        note(f"Lessons go to {branch}; agents read {ref}. Ctrl-C ends.")

    return tell
