"""The environment that is elsewhere: `[environment] name = "http"` runs rollouts at a service (RFC §13, §15).

    [environment]
    name = "http"

    [environment.options]
    url = "http://127.0.0.1:1944"

Further options: `key_variable` names the environment variable with the service's key (none is sent without);
`options` is a table that goes with every rollout; `case_input` lists the fields of a case's input that are
sent instead of those that the service asks for; `time_limit` is in seconds, for one rollout; `pinned = false`
sends no experiences: the service reads them at `root_uri`.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.components.remote import TIME_LIMIT, RemoteRolloutExecutor, health_of
from trainer.environments.options import Options
from trainer.remote.client import JsonClient, check_address, is_local, origin_of
from xpstore import gitcli
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.interfaces import RolloutExecutor
    from trainer.remote.protocol import Health

SETTING = "xp.trustedEnvironment"
"""In git's configuration: `https://host`, or `https://host VARIABLE` for one that may have a key."""
RETRIES = 6
"""Further attempts at a request: a service that is started anew is back within half a minute."""


@dataclass(frozen=True)
class HttpEnvironment:
    """Environment: see `trainer.environment.Environment`. What it is called, the service says (`/health`)."""

    url: str
    key_variable: str = ""
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    case_input: tuple[str, ...] | None = None
    time_limit: float = TIME_LIMIT
    pinned: bool = True
    root_uri: str = ""

    name = "http"

    @property
    def agent(self) -> str:
        """Name and version of who acts, as the service says; else the service's name."""
        return self._health.agent or self._health.name

    @property
    def model(self) -> str:
        """The model behind the agent."""
        return self._health.model

    @property
    def simulator(self) -> str:
        """The simulated user."""
        return self._health.simulator

    @property
    def version(self) -> str:
        """The name of the service: where its code changes, runs are still the same runs."""
        return f"1 {self._health.name}"

    @property
    def code(self) -> str:
        """The version that the service says: no score is reused under another one."""
        return f"{self._health.name} {self._health.version}"

    def executor(self) -> RolloutExecutor:
        """Return an executor. Raises UsageError for an address or a key, HttpError where nobody answers."""
        return RemoteRolloutExecutor(
            self.connect,
            options=self.options,
            case_input=self.case_input,
            pinned=self.pinned,
            root_uri=self.root_uri,
            time_limit=self.time_limit,
            expected=self._health,
        )

    def connect(self) -> JsonClient:
        """Return a client of the service."""
        return JsonClient(self.url, key=self._key, retries=RETRIES)

    @cached_property
    def _key(self) -> str:
        """The key of the service, "" where none is named. Raises UsageError as `_key_of`."""
        return _key_of(self.url, self.key_variable)

    @cached_property
    def _health(self) -> Health:
        """What the service says of itself, once. Raises HttpError; UsageError for one that says nothing."""
        with ThreadPoolExecutor(1) as worker:  # whoever asks may be in an event loop
            health = worker.submit(lambda: asyncio.run(self._asked())).result()
        if not health.name or not health.version:
            raise UsageError(
                f"the service at {self.url} does not say its name and version",
                hint="its /health has to have both: scores are kept under them",
            )
        return health

    async def _asked(self) -> Health:
        async with JsonClient(self.url, key=self._key, retries=2) as client:
            return await health_of(client)


def make(options: Mapping[str, JsonValue]) -> HttpEnvironment:
    """Return the environment; its options are above. Raises TypeError and ValueError for what is wrong."""
    plain = {name: value for name, value in options.items() if name not in _STRUCTURED}
    given = Options(plain)
    url = given.text("url", "")
    if not url:
        raise ValueError("url is missing: where is the service?")
    made = HttpEnvironment(
        url=check_address(url),
        key_variable=given.text("key_variable", ""),
        options=_table(options.get("options", {})),
        case_input=_names(options.get("case_input")),
        time_limit=given.number("time_limit", TIME_LIMIT, least=0.001),
        pinned=_flag(options.get("pinned", True)),
        root_uri=given.text("root_uri", ""),
    )
    given.check_all_read()
    return made


_STRUCTURED = frozenset({"options", "case_input", "pinned"})


def _table(value: JsonValue) -> Mapping[str, JsonValue]:
    if not isinstance(value, dict):
        raise TypeError(f"options must be a table, not {value!r}")
    return value


def _names(value: JsonValue) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"case_input must be a list of names, not {value!r}")
    return tuple(map(str, value))


def _flag(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"pinned must be true or false, not {value!r}")
    return value


def _key_of(url: str, variable: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the key of a service, "" where none is named.

    xp.toml comes with a clone, so what it names is not believed: experiences, cases and keys leave this
    machine only for an address that the user's own git configuration trusts. Raises UsageError for another
    one, and where the variable is not set.
    """
    if not is_local(url):
        wanted = f"{origin_of(url)} {variable}".rstrip()
        if wanted not in gitcli.own_settings(SETTING):
            shown = wanted if wanted.isprintable() else ascii(wanted)
            raise UsageError(
                f"xp.toml would send experiences and cases to {origin_of(url)}"
                f"{', and what the variable holds' if variable else ''};"
                " your configuration of git does not trust it with that",
                hint=f"if you do: git config --global --add {SETTING} {shlex.quote(shown)}",
            )
    if not variable:
        return ""
    key = environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"there is no key for the service: {variable} is not set", hint=f"set {variable}")
    return key
