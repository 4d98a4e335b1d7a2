"""Serve an environment over HTTP, check a service, fetch its cases.

An environment is a world with an agent in it. As a service it runs in a process, or on a machine, of its own;
xp eval, xp train and xp gate then run their cases there (`[environment] name = "http"` in xp.toml).
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainer.cli.web_log import verbose_option, write_log
from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import counted, emit, note, one_line, paint
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import JsonValue

    from trainer.domain import Case
    from trainer.env_kit.check import Check
    from trainer.env_kit.runtime import EnvironmentRuntime
    from trainer.remote.client import JsonClient
    from trainer.remote.protocol import CasesQuery
    from trainer.web.keys import KeyFile

    Decorated = Callable[..., None]

PORT = 1944
"""The RFC's port for services of environments."""
PATIENCE = 10.0
"""Seconds that rollouts may take to let go when the service ends; what clients were promised is on disk."""
PACKAGES = frozenset({"fastapi", "starlette", "uvicorn"})
AT_LEAST_ONE = click.IntRange(min=1)

key_option = click.option(
    "--key-variable", default="", metavar="NAME", help="The environment variable with the service's key."
)


def slice_options(command: Decorated) -> Decorated:
    """Add the options that say which cases are meant."""
    for name, text in (
        ("--split", "Such as train, gate or test."),
        ("--domain", "A part of the data set."),
        ("--dataset", "A data set of the service."),
    ):
        command = click.option(name, default="", metavar="NAME", help=text)(command)
    return command


@click.group("env", help=__doc__)
def command() -> None:
    """Group; see the module's docstring."""


@command.command("list", short_help="Say which environments are installed.")
@json_option
def list_command(*, as_json: bool) -> None:
    """List what is installed: environments for xp.toml, and those that can be served.

    JSON: {"environments": [name], "served": [{"name", "from"}]}
    """
    from importlib.metadata import entry_points

    from trainer.env_kit.installed import runtimes
    from trainer.environment import GROUP

    environments = sorted({point.name for point in entry_points(group=GROUP)})
    served = runtimes()
    if as_json:
        rows = [{"name": name, "from": value} for name, value in served.items()]
        emit({"environments": environments, "served": rows})
        return
    click.echo(f"in xp.toml: {', '.join(environments)}")
    click.echo(f"with xp env serve: {', '.join(served)}, or MODULE:CLASS")


@command.command("serve", short_help="Serve an environment, installed or yours.")
@click.argument("name")
@click.option(
    "-o", "--option", "given", multiple=True, metavar="NAME=VALUE", help="An option of the environment."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 = a free one."
)
@click.option("--parallel", default=8, show_default=True, type=AT_LEAST_ONE, help="Rollouts at once.")
@click.option(
    "--queue", default=1000, show_default=True, type=click.IntRange(min=0), help="Rollouts that may wait."
)
@click.option(
    "--time-limit",
    default=1800.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="For one rollout.",
)
@click.option(
    "--state",
    metavar="FILE",
    help="Where ended rollouts are kept for clients; '' keeps none.  [default: in ~/.local/state/xpstore]",
)
@click.option(
    "--experiences",
    default="",
    metavar="STORE",
    help="A store's folder, or the address of an xp serve: for clients that send no experiences.",
)
@click.option("--keys", "keys_file", default="", metavar="FILE", help="Ask for keys (xp serve key add).")
@click.option("--labels", is_flag=True, help="Send clients, too, how cases are to come out.")
@verbose_option
@json_option
@click.pass_context
@pass_app
def serve_command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    name: str,
    *,
    given: tuple[str, ...],
    host: str,
    port: int,
    parallel: int,
    queue: int,
    time_limit: float,
    state: str | None,
    experiences: str,
    keys_file: str,
    labels: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Serve an environment: NAME is an installed one (xp env list), or MODULE:CLASS of a file here.

    Clients ask for cases, submit rollouts and poll until they are done: GET /openapi.json says how. What
    the queue has no room for is told to come back. A rollout that has ended is kept and is there after a
    restart; one that was still running is not, and xp submits it again by itself.

    The first line of the output is the address. SIGTERM and Ctrl-C end it. Only this machine is served unless
    --keys asks for keys.

    JSON: {"url", "name", "version"}, on one line
    """
    from trainer.cli.extra import extra
    from trainer.env_kit.installed import load_runtime

    if ":" in name:
        sys.path.insert(0, str(app.cwd))  # as `python -m` would have it
    runtime = load_runtime(name, dict(map(_option, given)))
    with extra("serve", PACKAGES, "xp env serve"):
        from trainer.env_kit.executions import Limits
        from trainer.env_kit.service import make_service
        from trainer.web.run import run_app

    from trainer.env_kit.experiences import reader_of

    write_log(verbose=verbose)
    service = make_service(
        runtime,
        limits=Limits(parallel=parallel, queue=queue, time_limit=time_limit),
        state=_state_file(app, runtime, state),
        reader=reader_of(str(app.cwd / experiences) if "://" not in experiences else experiences)
        if experiences
        else None,
        keys=_key_file(app, keys_file),
        labels=labels,
    )

    def tell(url: str) -> None:
        if as_json:
            click.echo(json.dumps({"url": url, "name": runtime.name, "version": runtime.version}))
            return
        click.echo(url)
        note(f"{runtime.name} {runtime.version}; Ctrl-C ends.")

    has_keys = bool(keys_file)
    ctx.exit(run_app(service, host, port, has_keys=has_keys, announce=tell, patience=PATIENCE))


@command.command("check", short_help="Check that a service speaks the protocol.")
@click.argument("url")
@slice_options
@click.option("-o", "--option", "given", multiple=True, metavar="NAME=VALUE", help="Goes with each rollout.")
@click.option(
    "--time-limit",
    default=120.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="How long a rollout may take.",
)
@key_option
@json_option
@click.pass_context
def check_command(  # noqa: PLR0913  # the options of the verb
    ctx: click.Context,
    url: str,
    *,
    dataset: str,
    domain: str,
    split: str,
    given: tuple[str, ...],
    time_limit: float,
    key_variable: str,
    as_json: bool,
) -> None:
    """Check that the service at URL speaks the protocol; two rollouts are submitted.

    JSON: {"url", "checks": [{"name", "ok", "why"}], "exit_code"}

    Exit code 1 where a check failed.
    """
    import asyncio

    from trainer.remote.protocol import CasesQuery

    query = CasesQuery(dataset=dataset, domain=domain, split=split)
    client = _client(url, key_variable, retries=1)
    options = dict(map(_option, given))
    found = asyncio.run(_checked(client, query, options, time_limit, show=not as_json))
    code = int(any(not each.ok for each in found))
    if as_json:
        rows = [{"name": each.name, "ok": each.ok, "why": each.why} for each in found]
        emit({"url": client.url, "checks": rows, "exit_code": code})
    ctx.exit(code)


@command.command("cases", short_help="Fetch the cases of a service as JSON lines.")
@click.argument("url")
@slice_options
@click.option("--limit", type=AT_LEAST_ONE, metavar="N", help="The first N cases only.")
@click.option("--labels", is_flag=True, help="Keep what the service says of how they are to come out.")
@key_option
@json_option
def cases_command(  # noqa: PLR0913  # the options of the verb
    url: str,
    *,
    dataset: str,
    domain: str,
    split: str,
    limit: int | None,
    labels: bool,
    key_variable: str,
    as_json: bool,
) -> None:
    """Write the cases of the service at URL as JSON lines, as they stand in cases/SUITE.jsonl.

    JSON: {"cases": [case]}
    """
    import asyncio

    from trainer.components.remote import RemoteCaseLoader
    from trainer.remote.protocol import CasesQuery
    from trainer.suite import write_suite

    query = CasesQuery(dataset=dataset, domain=domain, split=split)
    loader = RemoteCaseLoader(lambda: _client(url, key_variable), query, labels=labels)
    cases = asyncio.run(loader.load(limit))
    if as_json:
        emit({"cases": [case.model_dump(mode="json") for case in cases]})
        return
    click.echo(write_suite(cases).decode(), nl=False)
    note(_told(cases))


def _told(cases: Sequence[Case]) -> str:
    return counted(len(cases), "case")


async def _checked(
    client: JsonClient, query: CasesQuery, options: dict[str, JsonValue], seconds: float, *, show: bool
) -> list[Check]:
    from trainer.env_kit.check import check

    found = []
    async with client:
        async for each in check(client, query, options=options, seconds=seconds):
            found.append(each)
            if show:
                click.echo(_line(each))
    return found


def _line(each: Check) -> str:
    mark = paint("ok    ", "green") if each.ok else paint("FAILED", "red")
    return f"{mark}  {each.name}" + (paint(f": {one_line(each.why)}") if each.why else "")


def _option(text: str) -> tuple[str, JsonValue]:
    """Return name and value of NAME=VALUE; a value that is JSON is what it says, any other one a text."""
    name, is_there, value = text.partition("=")
    if not name or not is_there:
        raise UsageError(f"'{text}' is no option", hint="NAME=VALUE, such as seed=7")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _client(url: str, key_variable: str, retries: int = 4) -> JsonClient:
    from trainer.remote.client import JsonClient

    key = os.environ.get(key_variable, "").strip() if key_variable else ""
    if key_variable and not key:
        raise UsageError(f"there is no key for the service: {key_variable} is not set")
    return JsonClient(url, key=key, retries=retries)


def _state_file(app: App, runtime: EnvironmentRuntime, named: str | None) -> Path | None:
    if named is not None:
        return app.cwd / named if named else None
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", runtime.name) or "environment"
    return Path(base).expanduser() / "xpstore" / "environments" / f"{name}.sqlite"


def _key_file(app: App, named: str) -> KeyFile | None:
    """Return the file with the keys; None where none is asked. Raises UsageError for one without a key."""
    if not named:
        return None
    from trainer.web.keys import KeyFile

    file = KeyFile(app.cwd / named)
    if not file.read():
        raise UsageError(f"there is no key in {file.path}", hint=f"xp serve key add NAME --keys {named}")
    return file
