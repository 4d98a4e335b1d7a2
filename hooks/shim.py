"""The file that git runs: a few lines of shell that start `xp hook`, and the hook that was there before.

A shim knows by itself which hook it is: other installers move files they find to another name. The hook
that was there stays beside it, byte for byte, and runs first, with the same arguments and standard input;
what it refuses is refused.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Literal

from hooks.kept import link_of

VERSION = 1
CLIENT = ("pre-commit", "pre-merge-commit", "commit-msg", "pre-push", "post-merge")
SERVER = ("pre-receive",)
"""What `--server` installs: it sees all refs of a push together."""
ALONE = ("update",)
"""Installed only when asked for: it sees one ref, and evidence only if that was pushed before."""
KNOWN = (*CLIENT, *SERVER, *ALONE)
_READS = frozenset({"pre-push", "pre-receive"})
"""Hooks to which git says something on standard input."""
_TOO_LATE = frozenset({"post-merge"})
"""Hooks whose failure changes nothing."""
_MARK = re.compile(rb"\A#!/bin/sh\n# xpstore-shim (\d{1,6}) ([a-z-]+)\n(?:# kept: ([^\n/]+)\n)?")
_SHELLS = frozenset({"sh", "bash", "dash", "ksh"})

Kind = Literal["client", "server"]


@dataclass(frozen=True, slots=True)
class Shim:
    """What a shim says of itself."""

    version: int
    hook: str
    kept: str = ""
    """The name of the hook that was there before, in the same folder; "" for none."""


def read(data: bytes) -> Shim | None:
    """Return what a file says if it is a shim of ours, of any version; None where it is somebody else's."""
    match = _MARK.match(data)
    if match is None:
        return None
    kept = (match[3] or b"").decode("utf-8", "surrogateescape")
    return Shim(int(match[1]), match[2].decode(), kept)


def render(hook: str, program: str, kept: str = "", before: bytes = b"") -> str:
    """Return the shim of a hook.

    `program` is where xp is if it is not on PATH; `kept` names the hook that was there, `before` is its
    content.
    """
    lines = ["#!/bin/sh", f"# xpstore-shim {VERSION} {hook}", *([f"# kept: {kept}"] if kept else [])]
    lines.append(
        "# Made by `xp hooks install`; `xp hooks uninstall` takes it out and puts back what was here."
    )
    reads = bool(kept) and hook in _READS
    if kept:
        lines += _run_kept(hook, kept, before)
    lines += [
        f"xp=$(command -v xp) || xp={shlex.quote(program)}",
        'if [ ! -x "$xp" ]; then',
        *_missing(hook),
        "fi",
    ]
    start = f'"$xp" hook {hook} "$@"'
    start = f'printf %s "$input" | {start}' if reads else start
    lines += [start, "code=$?", *_unable(hook)] if hook in CLIENT else [start]
    return "\n".join(lines) + "\n"


def _unable(hook: str) -> list[str]:
    """Return what a client does where xp is there and cannot be started: its Python is gone."""
    return [
        "case $code in 126|127)",
        f"    echo 'warning: xp cannot be started: {hook} checks no experiences' >&2",
        "    code=0 ;;",
        "esac",
        "exit $code",
    ]


def _missing(hook: str) -> list[str]:
    if hook in CLIENT:
        return [f"    echo 'warning: xp is not on PATH: {hook} checks no experiences' >&2", "    exit 0"]
    return [f"    echo 'error: xp is not on PATH of this server: {hook} takes nothing' >&2", "    exit 1"]


def _run_kept(hook: str, kept: str, before: bytes) -> list[str]:
    shell = _shell(before.partition(b"\n")[0].decode("utf-8", "replace"))
    start = _command(shell, before)
    after = "|| :" if hook in _TOO_LATE else "|| exit"
    lines = [f'kept=$(dirname "$0")/{shlex.quote(kept)}']
    if not shell and (link := link_of(kept)):
        named = f'$(dirname "$0")/{shlex.quote(link)}'
        lines.append(f'[ ! "{named}" -ef "$kept" ] || kept={named}')
    if hook in _READS:
        lines += ["input=$(cat; echo .)", "input=${input%.}"]
        start = f'printf %s "$input" | {start}'
    # git does not run a file that is not executable, so neither does this
    return [*lines, 'if [ -x "$kept" ]; then', f"    {start} {after}", "fi"]


def _command(shell: str, before: bytes) -> str:
    """Return what runs the kept hook; `shell` is the start of its command line, "" for another program.

    It has another name now. A shell script that asks for its own is read by its shell under the old one.
    """
    asks = re.search(rb"\$(?:0|\{0)", before) and b"BASH_SOURCE" not in before
    if not (shell and asks):
        return '"$kept" "$@"'
    script = '_xpstore_kept=$1; shift; . "$_xpstore_kept"'
    return f"""{shell} -c '{script}' "$0" "$kept" "$@\""""


def _shell(line: str) -> str:
    """Return the start of the command line of a script's shell; "" where it is no shell that we know."""
    if not line.startswith("#!"):
        return ""
    words = line[2:].split()
    program = words[1] if len(words) > 1 and words[0].endswith("/env") else words[0] if words else ""
    return shlex.join(words) if program.rpartition("/")[2] in _SHELLS else ""
