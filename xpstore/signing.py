"""Detached signatures: the door to ssh-keygen and gpg.

A signature of ssh-keygen is for one namespace: what was signed as a commit (`git`) is worth nothing as
anything else. Keys stay with those programs and their agents; a passphrase is asked for by them.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from xpstore.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SSH_KEYGEN = "ssh-keygen"
GPG = "gpg"
LITERAL = ("key::", "ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-")
"""What a public key starts with that is written out instead of named by its file."""
LATEST = 253_370_764_800
"""The beginning of the year 9999: a commit may say any number, and ssh-keygen reads four digits of a year."""
_GOOD_SSH = re.compile(r'^Good "[^"]*" signature (?:for (.*) )?with \S+ key (\S+)$', re.MULTILINE)
_TRUSTED = {"TRUST_MARGINAL", "TRUST_FULLY", "TRUST_ULTIMATE"}
_BAD_GPG = {
    "BADSIG": "the signature is not of this text",
    "EXPSIG": "the signature has expired",
    "EXPKEYSIG": "the key has expired",
    "REVKEYSIG": "the key was revoked",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a signature is worth."""

    state: Literal["good", "bad", "unknown"]
    """unknown: it may be right, but nobody says whose key it is."""
    signer: str = ""
    """The principal of the allowed-signers file, or the user id of a gpg key."""
    key: str = ""
    """The fingerprint of the key, or gpg's id of it."""
    reason: str = ""
    """Why it is not good."""


def sign(data: bytes, namespace: str, key: str, *, program: str = SSH_KEYGEN) -> str:
    """Return the armoured ssh signature of `data`, ending in a newline.

    `key` as git's user.signingKey: the file of a key (its public half where an agent has the other), or the
    public key itself. Raises RefusedError where it is missing or the program fails.
    """
    with _key_file(key) as (file, options):
        command = [program, "-Y", "sign", "-n", namespace, "-f", str(file), *options]
        done = _run(command, data)
    text = done.stdout.decode("ascii", "replace").replace("\r", "")
    if done.returncode or not text.startswith("-----BEGIN SSH SIGNATURE-----"):
        raise RefusedError(
            f"{program} does not sign with {_shown(key)}: {_said(done)}",
            hint="`ssh-add -l` lists the keys that the agent has; user.signingKey of git names the key",
        )
    return text


def verify(  # noqa: PLR0913  # what decides about a signature
    data: bytes,
    signature: str,
    allowed_signers: Path | None,
    namespace: str,
    *,
    at: int | None = None,
    revoked: Path | None = None,
    program: str = SSH_KEYGEN,
) -> Verdict:
    """Say what an ssh signature of `data` is worth by an allowed-signers file (ssh-keygen(1)).

    `at` is the moment, in seconds since 1970, for which keys must have been valid; None = now. Raises
    RefusedError where the file is missing or ssh-keygen cannot be started.
    """
    for file in (allowed_signers, revoked):
        if file is not None and not file.is_file():
            raise RefusedError(f"there is no file {file}", hint="gpg.ssh.* of git's configuration names it")
    moment = [f"-Overify-time={_utc(at)}"] if at is not None else []
    with TemporaryDirectory(prefix="xp-") as folder:
        file = Path(folder, "signature")
        file.write_text(signature, encoding="utf-8", errors="replace")
        common = ["-n", namespace, "-s", str(file), *moment]
        for signer in _principals(program, allowed_signers, file, moment):
            command = [program, "-Y", "verify", *common, "-f", str(allowed_signers), "-I", signer]
            done = _run([*command, *(["-r", str(revoked)] if revoked else [])], data)
            said = _GOOD_SSH.search(done.stdout.decode("utf-8", "replace"))
            if done.returncode == 0 and said:
                return Verdict("good", signer, said[2])
        done = _run([program, "-Y", "check-novalidate", *common], data)
    said = _GOOD_SSH.search(done.stdout.decode("utf-8", "replace"))
    if done.returncode or not said:
        return Verdict("bad", reason=f"the signature is not of this text, or not for {namespace}")
    return Verdict("unknown", key=said[2], reason="no allowed signer has this key")


def sign_gpg(data: bytes, key: str, *, program: str = GPG) -> str:
    """Return the armoured OpenPGP signature of `data` by a key id, fingerprint or user id.

    Raises RefusedError where gpg has no such key or fails.
    """
    done = _run([program, "--status-fd=2", "-bsau", key], data)
    if done.returncode or b"[GNUPG:] SIG_CREATED " not in done.stderr:
        raise RefusedError(
            f"{program} does not sign as {key}: {_said(done)}",
            hint="`gpg --list-secret-keys` lists the keys; user.signingKey of git names one",
        )
    return done.stdout.decode("ascii", "replace").replace("\r", "")


def verify_gpg(data: bytes, signature: str, *, program: str = GPG) -> Verdict:
    """Say what an OpenPGP signature of `data` is worth by gpg's own keyring; no key is fetched.

    A key that is there without trust is unknown: anybody's may have been fetched. Raises RefusedError where
    gpg cannot be started.
    """
    with TemporaryDirectory(prefix="xp-") as folder:
        file = Path(folder, "signature")
        file.write_text(signature, encoding="utf-8", errors="replace")
        options = ["--no-auto-key-retrieve", "--keyid-format=long", "--status-fd=1"]
        done = _run([program, *options, "--verify", str(file), "-"], data)
    lines = [line.split(" ", 3)[1:] for line in done.stdout.decode("utf-8", "replace").splitlines()]
    words = {line[0]: line[1:] for line in lines if line}
    for word, reason in _BAD_GPG.items():
        if word in words:
            return Verdict("bad", *_named(words[word]), reason=reason)
    if "ERRSIG" in words:
        return Verdict("unknown", key=words["ERRSIG"][0], reason="gpg does not have this key")
    if "GOODSIG" not in words or done.returncode:
        return Verdict("bad", reason="gpg finds no signature in it")
    if words.keys() & _TRUSTED:
        return Verdict("good", *_named(words["GOODSIG"]))
    return Verdict("unknown", *_named(words["GOODSIG"]), reason="gpg does not trust this key")


def _named(words: Sequence[str]) -> tuple[str, str]:
    """Return user id and key id of a status line of gpg."""
    return " ".join(words[1:]), words[0]


def _principals(
    program: str, allowed_signers: Path | None, signature: Path, moment: Sequence[str]
) -> list[str]:
    """Return whose key made a signature, by the allowed-signers file."""
    if allowed_signers is None:
        return []
    where = ["-f", str(allowed_signers), "-s", str(signature)]
    done = _run([program, "-Y", "find-principals", *where, *moment], b"")
    return done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []


@contextmanager
def _key_file(key: str) -> Iterator[tuple[Path, list[str]]]:
    """Yield the file of a key and the options that go with it."""
    if key.startswith(LITERAL):
        with TemporaryDirectory(prefix="xp-") as folder:
            file = Path(folder, "key.pub")
            file.write_text(f"{key.removeprefix('key::')}\n", encoding="utf-8")
            yield file, ["-U"]  # only the agent has the other half
        return
    file = Path(os.path.expanduser(key))  # noqa: PTH111 - Path's raises where there is no such user
    if not file.is_file():
        raise RefusedError(f"there is no key {file}", hint="user.signingKey of git's configuration names it")
    yield file, []


def _run(command: Sequence[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, input=data, capture_output=True, env={**os.environ, "LC_ALL": "C"}, check=False
        )
    except OSError as error:
        raise RefusedError(
            f"cannot start {command[0]}: {error.strerror or error}", hint="is it installed and on PATH?"
        ) from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first line of a program's complaint that is for people."""
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    return next((line for line in lines if line and not line.startswith("[GNUPG:]")), "no reason given")


def _shown(key: str) -> str:
    return f"{key[:40]}…" if key.startswith(LITERAL) else key


def _utc(seconds: int) -> str:
    """Return a moment as ssh-keygen reads it; only newer ones know a Z for UTC."""
    at = datetime.fromtimestamp(min(seconds, LATEST))  # noqa: DTZ006 - it reads local time
    return at.strftime("%Y%m%d%H%M%S")
