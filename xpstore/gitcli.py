"""The git program: for history, working trees and maintenance, never to write a plan's objects.

The caller's environment and configuration cannot redirect it: every GIT_* variable that names a
repository, index or working tree is dropped, no hook, monitor, pager or prompt starts.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xpstore.errors import RepositoryError
from xpstore.failures import DAMAGE, PARTIAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PASSED_ON = frozenset(
    {
        "GIT_ASKPASS",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSL_CAINFO",
        "GIT_SSL_NO_VERIFY",
        "GIT_TRACE2_EVENT",
    }
)
BROKEN = (
    "unable to read",
    "ould not read",
    "is empty",
    "corrupt",
    "missing",
    "bad object",
    "inflate",
    "too short",
)
"""What git says of objects that are damaged or not there."""
SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=off",
    "core.pager=cat",
    "color.ui=false",
    "log.showSignature=false",
    "gc.autoDetach=false",
    "advice.detachedHead=false",
    "protocol.ext.allow=never",
)

OWN = frozenset({"global", "system"})
"""The scopes of git's configuration that no clone carries."""

_lent: ContextVar[str] = ContextVar("lent", default="")


@contextmanager
def lending(objects: Path) -> Iterator[None]:
    """Let git read the objects of another folder too, in all that is started in this block.

    A push is checked before its objects are the repository's own: git keeps them apart until then, and tells
    only its hooks where, by a variable that is dropped here as all others are.
    """
    quoted = str(objects).replace("\\", "\\\\").replace('"', '\\"')
    token = _lent.set(f'"{quoted}"')
    try:
        yield
    finally:
        _lent.reset(token)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a git process left: exit code and raw output."""

    code: int
    out: bytes
    err: str


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment that git is started with."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in PASSED_ON}
    env |= {"LC_ALL": "C", "LANGUAGE": "", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
    env["GIT_NO_LAZY_FETCH"] = "1"  # a partial clone fetches from where, and with what, its config says
    if lent := _lent.get():
        env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = lent
    return env | dict(extra or {})


def attempt(
    where: Path, args: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> Ran:
    """Run git in the directory `where` and return what happened, failures included.

    Raises RepositoryError only where git cannot be started at all.
    """
    try:
        done = subprocess.run(
            _command(args), cwd=where, input=stdin, capture_output=True, env=environment(env), check=False
        )
    except OSError as error:
        if not where.is_dir():
            raise RepositoryError(
                f"the folder {where} is gone", hint="it was moved or deleted; start again where it is now"
            ) from error
        raise RepositoryError(
            f"cannot start git in {where}: {error.strerror or error}", hint="is git installed and on PATH?"
        ) from error
    return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())


def _command(args: Sequence[str]) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    return ["git", "--no-pager", "--literal-pathspecs", "--no-replace-objects", *settings, *args]


def start(where: Path, commands: Sequence[Sequence[str]], *, holding: int, stdin: str = "") -> bool:
    """Start git in the background and return at once, whether it could be started.

    The commands, the last of which reads `stdin`, run one after the other as long as none fails. They outlive
    this process, run behind all others, and nobody hears what they say. The open file `holding` stays open,
    and with it a lock on it, for as long as they run.
    """
    *first, last = [shlex.join(["nice", *_command(args)]) for args in commands]
    steps = " && ".join([*first, f"printf %s {shlex.quote(stdin)} | {last}"])
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", f"({steps}) &"],  # the shell ends at once: no process is left to wait for
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            pass_fds=(holding,),
            start_new_session=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def run(
    where: Path, args: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> bytes:
    """Run git in the directory `where` and return its output. Raises RepositoryError on failure."""
    done = attempt(where, args, stdin=stdin, env=env)
    if done.code:
        raise RepositoryError(f"git {args[0]} failed in {where}: {first(done)}", hint=_hint(where, done.err))
    return done.out


def own_settings(key: str) -> tuple[str, ...]:
    """Return the values of a setting in the user's configuration of git, and in the machine's.

    A repository's own does not count: one that lies in a clone, or in an archive, brings its configuration.
    Raises RepositoryError where git cannot read its configuration.
    """
    here = Path()
    done = attempt(here, ["config", "--show-scope", "--null", "--get-all", key])
    if done.code == 1:  # it is not set
        return ()
    if done.code:
        raise RepositoryError(
            f"git config failed in {here.resolve()}: {first(done)}", hint=_hint(here, done.err)
        )
    scopes_and_values = done.out.decode("utf-8", "replace").split("\0")
    found = zip(scopes_and_values[::2], scopes_and_values[1::2], strict=False)
    return tuple(value for scope, value in found if scope in OWN)


def _hint(where: Path, said: str) -> str:
    if not any(words in said for words in BROKEN):
        return said.partition("\n")[2].strip() or "that is git's own message"
    partial = attempt(where, ["config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$"])
    return DAMAGE if partial.code else PARTIAL


def first(done: Ran) -> str:
    """Return the first line of what a failed git said."""
    line = done.err.partition("\n")[0].strip()
    return line.removeprefix("fatal: ").removeprefix("error: ") or f"exit code {done.code}"


def records(out: bytes) -> list[str]:
    """Split `-z` output; names that are no UTF-8 keep their bytes as lone surrogates."""
    return [part.decode("utf-8", "surrogateescape") for part in out.split(b"\0") if part]
