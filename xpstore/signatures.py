"""Signed plans: who signs, with which key, and what the signatures of commits are worth.

`[sign]` of xp.toml says that plans are signed; keys, allowed signers and programs are those of git's own
configuration, so plain `git verify-commit` comes to the same result:

    user.signingKey                          the key; with gpg, else the committer
    gpg.ssh.allowedSignersFile               whose ssh keys count; gpg has its keyring
    gpg.ssh.revocationFile                   ssh keys that count no more
    gpg.program  gpg.ssh.program             the user's or the system's: a repository may come from anywhere
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from xpstore import events, gitcli, layout, signing
from xpstore.errors import RefusedError
from xpstore.objects import unsigned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from xpstore.git import Repo
    from xpstore.location import Location
    from xpstore.objects import Sign
    from xpstore.signing import Verdict

NAMESPACE = "git"
"""What git signs commits for."""
_PROGRAM_SCOPES = {"system", "global"}
_KEYS = r"^(gpg\.|user\.signingkey$)"


@dataclass(frozen=True, slots=True)
class Signature:
    """What the signature of one commit is worth, and whether the store asks for one."""

    commit: str
    plan_id: str
    """Empty for a commit that is no plan."""
    state: Literal["good", "bad", "unknown", "unsigned"]
    """unknown: signed, but nobody says whose key it is."""
    is_required: bool
    """Whether `[sign]` of xp.toml, as it was at this commit, asks for signatures."""
    signer: str = ""
    key: str = ""
    reason: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether it is bad, or asked for and not good."""
        return self.state == "bad" or (self.is_required and self.state != "good")


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose signatures count, and the programs that know."""

    allowed_signers: Path | None = None
    """In the form of ssh-keygen(1); None = nobody's ssh key is known."""
    revoked: Path | None = None
    ssh_keygen: str = signing.SSH_KEYGEN
    gpg: str = signing.GPG


def signer(loc: Location) -> Sign | None:
    """Return what signs a commit as xp.toml asks for it; None where it does not.

    Raises RefusedError where git's configuration names no key. What is returned raises it where the key is
    missing, or the signing fails.
    """
    if not loc.config.sign.is_on:
        return None
    if loc.config.sign.format == "gpg":
        settings = _settings(loc.repo)
        trust, key, who = _trust(loc.repo, settings), settings.get("user.signingkey", ""), loc.repo.person()
        return partial(signing.sign_gpg, key=key or f"{who.name} <{who.email}>", program=trust.gpg)
    return ssh_signer(loc.repo, NAMESPACE, "plans are signed here ([sign] of xp.toml)")


def ssh_signer(repo: Repo, namespace: str, why: str) -> Sign:
    """Return what signs something for a namespace with the user's ssh key; `why` it is signed, in words.

    Raises RefusedError where git's configuration names no key.
    """
    settings = _settings(repo)
    key = settings.get("user.signingkey", "")
    if not key:
        raise RefusedError(
            f"{why}, and git knows no key of yours",
            hint="`git config user.signingKey ~/.ssh/id_ed25519.pub` names one; nothing was written",
        )
    if not key.startswith(signing.LITERAL):
        key = str(_path(repo, key))
    return partial(signing.sign, namespace=namespace, key=key, program=_trust(repo, settings).ssh_keygen)


def check(loc: Location, ref: str, trust: Trust | None = None) -> list[Signature]:
    """Return the signature of every plan in the history of a ref, oldest first.

    `trust` is that of git's configuration where none is given. Raises NotFoundError, and RefusedError where
    a file or program that decides is missing.
    """
    tip = events.commit_of(loc, ref)
    entries = [raw.entry for raw in events.plan_commits(loc, tip)][::-1]
    plans = [(entry.commit, plan_id) for entry in entries for plan_id in entry.plan_ids]
    return list(_judged(loc, plans, trust))


def missing(loc: Location, old: str, new: str, trust: Trust | None = None) -> list[Signature]:
    """Return the commits that a branch would gain and that change experiences without a good signature.

    For a server that asks for signatures: people's commits, too. `old` is where the branch is, "" if it is
    new there. What xp.toml asks for does not matter here. Raises as `check`.
    """
    span = [new, f"^{old}"] if old else [new]
    commits = gitcli.run(loc.repo.place, ["rev-list", "--reverse", *span]).decode().split()
    path = ["rev-list", "--ancestry-path", *span] if old else []
    line = {old, *gitcli.run(loc.repo.place, path).decode().split()} if old else set()
    changing = [(commit, "") for commit in commits if _changes_experiences(loc, commit, line)]
    return [found for found in _judged(loc, changing, trust) if found.state != "good"]


def trust_of(repo: Repo, allowed_signers: Path | None = None) -> Trust:
    """Return whose signatures count by git's configuration; `allowed_signers` instead of the file there."""
    return _trust(repo, _settings(repo), allowed_signers)


def _changes_experiences(loc: Location, commit: str, line: set[str]) -> bool:
    """Return whether a commit, or a merge into its first parent, has other experiences than before.

    A merge that takes its other side as it is does so too: git's own simplified history would leave it out.
    Before is also what a parent has that is on the `line` of where the branch was, whichever parent it is:
    a merge into another side takes back there what the branch has learned.
    """
    parents = loc.repo.commit(commit).parents
    before = [*parents[:1], *(parent for parent in parents[1:] if parent in line)]
    now = _experiences(loc, commit)
    return any(now != _experiences(loc, parent) for parent in before) if before else now is not None


def _experiences(loc: Location, commit: str) -> str | None:
    here = loc.at(commit)
    entry = here.repo.entry(here.repo.commit(commit).tree, here.in_tree(layout.EXPERIENCES))
    return entry.id if entry else None


def _judged(loc: Location, plans: Sequence[tuple[str, str]], trust: Trust | None) -> Iterator[Signature]:
    trust = trust or trust_of(loc.repo)
    verdicts: dict[str, Verdict | None] = {
        commit: _verdict(data, trust) for commit, data in _read(loc.repo, [commit for commit, _ in plans])
    }
    for commit, plan_id in plans:
        is_required = loc.config_at(commit).sign.is_on
        verdict = verdicts[commit]
        if verdict is None:
            yield Signature(commit, plan_id, "unsigned", is_required)
        else:
            yield Signature(
                commit, plan_id, verdict.state, is_required, verdict.signer, verdict.key, verdict.reason
            )


def _verdict(data: bytes, trust: Trust) -> Verdict | None:
    """Return what the signature in a commit's bytes is worth; None where there is none."""
    payload, signature = unsigned(data)
    if not signature:
        return None
    if signature.startswith("-----BEGIN SSH SIGNATURE-----"):
        return signing.verify(
            payload,
            signature,
            trust.allowed_signers,
            NAMESPACE,
            at=_committed(payload),
            revoked=trust.revoked,
            program=trust.ssh_keygen,
        )
    if signature.startswith(("-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----")):
        return signing.verify_gpg(payload, signature, program=trust.gpg)
    return signing.Verdict("unknown", reason="neither an ssh nor an OpenPGP signature")


def _committed(payload: bytes) -> int | None:
    """Return when a commit says that it was made: keys count at that moment, as for git."""
    for line in payload.partition(b"\n\n")[0].split(b"\n"):
        if line.startswith(b"committer ") and (words := line.split(b" "))[-2].isdigit():
            return int(words[-2][:18])  # what is longer is far behind all calendars, too
    return None


def _read(repo: Repo, commits: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of each commit; one process reads all."""
    asked = "".join(f"{commit}\n" for commit in dict.fromkeys(commits))
    out = gitcli.run(repo.place, ["cat-file", "--batch"], stdin=asked.encode()) if asked else b""
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        commit, _, size = out[at:end].decode().split(" ")
        at = end + 1 + int(size) + 1
        yield commit, out[end + 1 : at - 1]


def _settings(repo: Repo) -> dict[str, str]:
    """Return git's settings of signatures by their name in small letters."""
    command = ["config", "--show-scope", "-z", "--get-regexp", _KEYS]
    words = gitcli.records(gitcli.attempt(repo.place, command).out)
    found: dict[str, str] = {}
    for scope, row in zip(words[::2], words[1::2], strict=True):
        name, _, value = row.partition("\n")
        if not name.endswith("program") or scope in _PROGRAM_SCOPES:
            found[name] = value
    return found


def _trust(repo: Repo, settings: dict[str, str], allowed_signers: Path | None = None) -> Trust:
    files = {
        name: _path(repo, settings[key]) if settings.get(key := f"gpg.ssh.{name}") else None
        for name in ("allowedsignersfile", "revocationfile")
    }
    return Trust(
        allowed_signers or files["allowedsignersfile"],
        files["revocationfile"],
        settings.get("gpg.ssh.program") or signing.SSH_KEYGEN,
        settings.get("gpg.openpgp.program") or settings.get("gpg.program") or signing.GPG,
    )


def _path(repo: Repo, text: str) -> Path:
    """Return a file that git's configuration names: ~ is the user's, a relative one the repository's."""
    return repo.place / os.path.expanduser(text)  # noqa: PTH111 - Path's raises where there is no such user
