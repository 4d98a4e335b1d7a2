"""Follow a branch on the command line: a line, or a command, for each new snapshot (`xp watch`)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from xpstore.cli.output import counted, note, paint, shortened
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xpstore.cli.app import App
    from xpstore.watch import NewSnapshot

INTERRUPTED = 128 + signal.SIGINT
LONGEST = 100_000
"""Bytes of names that are passed on; Linux takes 128 KiB for one variable."""
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Following:
    """What to follow, and what to do about it."""

    branch: str
    since: str
    line: str | None
    """The command to run; None = a line for each."""
    once: bool
    as_json: bool


def follow(app: App, what: Following) -> int:
    """Tell of new snapshots until Ctrl-C, or of one; return the exit code. Raises as `ExperienceWatcher`."""
    from xpstore.watch import ExperienceWatcher

    words = _words(what.line)
    watcher = ExperienceWatcher(app.cwd, what.branch, store=app.store, since=what.since)
    try:
        for snapshot in watcher:
            code = _run(words, snapshot) if words else 0
            _tell(snapshot, code if words else None, as_json=what.as_json)
            if what.once:
                return code
    except KeyboardInterrupt:  # that is how it is meant to end
        pass
    return INTERRUPTED


def _words(line: str | None) -> list[str]:
    """Return a command line as its words; none for None. Raises UsageError for what cannot be started."""
    if line is None:
        return []
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"--exec {line!r}: {error}", hint="close the quotes") from error
    if words and shutil.which(words[0]) is None:
        raise UsageError(
            f"--exec: there is no program '{words[0]}'",
            hint="name its file, or sh -c '…' for what a shell shall do",
        )
    if not words:
        raise UsageError("--exec names no command", hint="leave it out to have a line per snapshot")
    return words


def _run(words: Sequence[str], snapshot: NewSnapshot) -> int:
    """Run the command and return its exit code as a shell would."""
    try:
        code = subprocess.run(words, env=_environment(snapshot, os.environ), check=False).returncode
    except OSError as error:
        note(f"error: cannot start {words[0]}: {error.strerror or error}")
        return 127
    code = 128 - code if code < 0 else code
    if code:
        note(f"error: {words[0]} ended with {code} for {shortened(snapshot.commit)}")
    return code


def _environment(snapshot: NewSnapshot, inherited: Mapping[str, str]) -> dict[str, str]:
    own = {"XP_COMMIT": snapshot.commit, "XP_TREE": snapshot.tree, "XP_PREVIOUS": snapshot.previous}
    changed = "\n".join(snapshot.changed)
    if len(os.fsencode(changed)) <= LONGEST:
        own["XP_CHANGED"] = changed
    return {**{key: value for key, value in inherited.items() if key != "XP_CHANGED"}, **own}


def _tell(snapshot: NewSnapshot, code: int | None, *, as_json: bool) -> None:
    if as_json:
        row = asdict(snapshot) | ({} if code is None else {"exit_code": code})
        click.echo(json.dumps(row))
    elif code is None:
        names = ", ".join(snapshot.changed[:SHOWN])
        more = f" and {len(snapshot.changed) - SHOWN} more" if len(snapshot.changed) > SHOWN else ""
        pages = counted(len(snapshot.changed), "page")
        click.echo(f"{paint(shortened(snapshot.commit), 'yellow')} {pages}: {paint(f'{names}{more}')}")
