"""Programs that a repository's own configuration names for an exchange: not run, it may come from anywhere.

git runs them at every fetch. Those of the user's and the system's configuration are trusted, and so is the
environment (GIT_SSH_COMMAND). `ext::` addresses, which are command lines, are switched off in gitcli.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xpstore import gitcli
from xpstore.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.git import Repo

_OWN = {"local", "worktree"}
_SCP = re.compile(r"(?:[^/:@]+@)?[^/:]+:(?!//)")
"""host:path, which is ssh as well."""


def check(repo: Repo, remote: str) -> None:
    """Raise RefusedError where the repository itself names a program that an exchange would run."""
    named = list(_named(repo, remote))
    if named:
        raise RefusedError(
            f"the configuration of {repo.place} names programs for {remote}: {', '.join(named)}",
            hint="a copied repository may name anything: if they are yours, git config --global sets them, or"
            ' call xp with GIT_SSH_COMMAND="$(git config core.sshCommand)"; nothing was run',
        )


def _named(repo: Repo, remote: str) -> Iterator[str]:
    urls = [
        gitcli.attempt(repo.place, ["remote", "get-url", *push, "--", remote]).out.decode("utf-8", "replace")
        for push in ([], ["--push"])
    ]
    relevant = [re.compile(pattern) for url in urls for pattern in _patterns(url.strip(), remote)]
    listed = gitcli.run(repo.place, ["config", "--list", "--show-scope", "-z"])
    tokens = listed.decode("utf-8", "replace").split("\0")
    for scope, setting in zip(tokens[::2], tokens[1::2], strict=False):
        key, _, value = setting.partition("\n")
        if scope in _OWN and value and any(pattern.fullmatch(key) for pattern in relevant):
            yield key


def _patterns(url: str, remote: str) -> Iterator[str]:
    """Yield patterns of the keys, as git lists them, whose values are run for this address."""
    yield rf"remote\.{re.escape(remote)}\.(?:uploadpack|receivepack|vcs)"
    yield r"core\.alternaterefscommand"
    if url.startswith(("http://", "https://")):
        yield r"credential\.(?:.*\.)?helper|core\.askpass"
    elif url.startswith("git://"):
        yield r"core\.gitproxy"
    elif url.startswith(("ssh://", "git+ssh://", "ssh+git://")) or _SCP.match(url):
        yield r"core\.askpass"
        if "GIT_SSH_COMMAND" not in gitcli.environment():
            yield r"core\.sshcommand"
