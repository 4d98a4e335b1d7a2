"""Another repository of the same store: which one, what it has, fetching from it, pushing to it.

A push moves all of its refs or none, each only from where this clone has seen it: git's own compare-and-swap
between repositories. Nothing is ever asked; where a password is missing, git fails.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import gitcli, layout
from xpstore.errors import RefusedError, RepositoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.git import Repo
    from xpstore.gitcli import Ran

_THERE = "remote:"
"""What git puts before the lines that come from the other side."""
_ERRORS_SHOWN = 3
_FASTER = (
    "stale info",
    "fetch first",
    "cannot lock ref",
    "failed to update ref",
    "atomic transaction failed",
    "incorrect old value",
    "already exists",
    "reference already",
)
"""What git says of a ref that another clone has moved meanwhile."""
_LOST = (
    "unpacker error",
    "bad pack",
    "unpack failed",
    "unable to migrate",
    "missing necessary objects",
    "did not send all necessary objects",
    "index-pack failed",
    "unable to write file",
    "No such file or directory",
    "Connection reset by peer",
    "early EOF",
)
"""What it says where one side lost what was sent: a full disk, its `git gc --prune=now`, a torn connection.

What had arrived all the same is found to be there by the next try: the refs have moved.
"""
_TRIES = 16
"""How often the same is sent then."""
_PAUSE = 0.25
"""The longest pause between two tries, in seconds."""


@dataclass(frozen=True, slots=True)
class Update:
    """One ref to move in the other repository."""

    ref: str
    old: str | None
    """Where it was seen; None: it was not there."""
    new: str


def choose(repo: Repo, main: str, given: str) -> str:
    """Return the remote to use: the one given, the one main follows, the only one, or `origin`.

    Raises UsageError for an unknown one, or where it cannot be told, and RefusedError where there is none.
    """
    known = repo.remotes
    if given:
        if given not in known:
            raise UsageError(f"there is no remote '{given}'", hint=f"git remote add {given} URL makes it")
        return given
    if not known:
        raise RefusedError(
            f"nothing is published: {repo.place} has no remote, and all of it is only here",
            hint="git remote add origin URL names one",
        )
    followed = repo.setting(f"branch.{main}.remote")
    for name in (followed, "origin", known[0] if len(known) == 1 else None):
        if name in known:
            return str(name)
    raise UsageError(f"there are {len(known)} remotes: {', '.join(known)}", hint="name the one to use")


def listing(repo: Repo, remote: str) -> dict[str, str]:
    """Return the refs that the other repository has now. Raises RepositoryError where it is out of reach."""
    out = _run(repo, ["ls-remote", "--quiet", "--refs", "--", remote], remote)
    lines = (line.split("\t") for line in out.decode("utf-8", "surrogateescape").splitlines())
    return {ref: commit for commit, ref in lines}


def fetch(repo: Repo, remote: str, wanted: Mapping[str, str]) -> None:
    """Fetch refs of the other repository into refs of this one: full name there → full name here."""
    if not wanted:
        return
    options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap="]
    options.append("--no-recurse-submodules")
    specs = [f"+{there}:{here}" for there, here in wanted.items()]
    # a pack, which git keeps until a ref has what is in it; loose objects would be anybody's to prune
    _run(repo, ["fetch", *options, "--", remote, *specs], remote, "fetch.unpackLimit=1")


def push(repo: Repo, remote: str, updates: Sequence[Update]) -> bool:
    """Move the refs over there, all or none; False where one is no longer where it was seen.

    Raises RepositoryError for any other refusal.
    """
    leases = [f"--force-with-lease={update.ref}:{update.old or ''}" for update in updates]
    specs = [f"{update.new}:{update.ref}" for update in updates]
    options = ["--porcelain", "--atomic", "--no-verify", "--no-follow-tags", "--no-signed"]
    options.append("--recurse-submodules=no")
    done = _attempt(repo, ["push", *options, *leases, "--", remote, *specs])
    if not done.code:
        return True
    lines = _said(done).splitlines()
    said = [line for line in lines if not line.startswith(_THERE)]  # a hook over there may use any words
    if any(words in line for words in _FASTER for line in said):
        return False
    rejected = [line.split("\t")[-1] for line in said if line.startswith("!")]
    reason = next((line for line in rejected if "atomic" not in line), gitcli.first(done))
    why, hint = _refused(line.removeprefix(_THERE).strip() for line in lines if line.startswith(_THERE))
    raise RepositoryError(
        f"{remote} did not take it: {why or reason}; nothing was published",
        hint=hint or "a shared store is a bare repository (git init --bare) that you may push to",
    )


def _refused(said: Iterable[str]) -> tuple[str, str]:
    """Return the errors and the first hint among the lines that a hook over there has printed."""
    found: dict[str, list[str]] = {"error": [], "hint": []}
    for line in said:
        word, _, text = line.partition(": ")
        if word in found:
            found[word].append(text)
    return "; ".join(found["error"][:_ERRORS_SHOWN]), next(iter(found["hint"]), "")


def tracking_ref(remote: str, ref: str) -> str:
    """Return where this clone keeps what a remote's ref was when it was last fetched."""
    if ref.startswith(layout.HEADS):
        return f"{layout.REMOTES}{remote}/{ref.removeprefix(layout.HEADS)}"
    return f"refs/xpstore/{remote}/{ref.removeprefix('refs/')}"


def _run(repo: Repo, args: Sequence[str], remote: str, setting: str = "") -> bytes:
    done = _attempt(repo, [*(["-c", setting] if setting else []), *args])
    if done.code:
        raise RepositoryError(
            f"git {args[0]} failed for {remote}: {gitcli.first(done)}",
            hint=f"`git fetch {remote}` shows whether it can be reached; nothing was changed",
        )
    return done.out


def _attempt(repo: Repo, args: Sequence[str]) -> Ran:
    """Run git, again where one side lost what was sent."""
    for number in range(_TRIES):
        done = gitcli.attempt(repo.place, args)
        if not done.code or not any(words in _said(done) for words in _LOST):
            break
        time.sleep(random.uniform(0, min(_PAUSE, 0.01 * 2**number)))  # noqa: S311 - jitter, no secret
    return done


def _said(done: Ran) -> str:
    return done.out.decode("utf-8", "replace") + done.err
