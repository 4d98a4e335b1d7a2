from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from xpstore.errors import RefusedError
from xpstore.signing import Verdict, sign, sign_gpg, verify, verify_gpg

DATA = "what is signed: ä\n".encode()
HAS_GPG = shutil.which("gpg") is not None


def make_key(folder: Path, name: str = "key") -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return folder / name


def public(key: Path) -> str:
    return key.with_suffix(".pub").read_text().strip()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("keys")
    return make_key(folder, "pat"), make_key(folder, "eve")


@pytest.fixture
def allowed(keys: tuple[Path, Path], tmp_path: Path) -> Path:
    file = tmp_path / "allowed"
    file.write_text(f'pat@example.org namespaces="git,xp-gate" {public(keys[0])}\n')
    return file


def test_what_was_signed_is_good_and_names_the_signer(keys, allowed):
    verdict = verify(DATA, sign(DATA, "git", str(keys[0])), allowed, "git")
    assert (verdict.state, verdict.signer) == ("good", "pat@example.org")
    assert verdict.key.startswith("SHA256:")


def test_another_text_another_namespace_and_rubbish_are_bad(keys, allowed):
    signature = sign(DATA, "git", str(keys[0]))
    assert verify(DATA + b"\n", signature, allowed, "git").state == "bad"
    assert verify(DATA, signature, allowed, "xp-gate").state == "bad"
    for rubbish in ("", "x", "\udcff", signature.replace("A", "B"), signature[:100]):
        assert verify(DATA, rubbish, allowed, "git").state == "bad"


def test_a_namespace_that_the_key_is_not_allowed_for_is_an_unknown_signer(keys, allowed):
    assert verify(DATA, sign(DATA, "file", str(keys[0])), allowed, "file").state == "unknown"


def test_a_key_of_nobody_is_unknown_and_so_is_every_key_without_a_list(keys, allowed):
    signature = sign(DATA, "git", str(keys[1]))
    assert verify(DATA, signature, allowed, "git").state == "unknown"
    assert verify(DATA, signature, None, "git").state == "unknown"


def test_a_revoked_key_is_not_good(keys, allowed, tmp_path):
    revoked = tmp_path / "revoked"
    revoked.write_text(f"{public(keys[0])}\n")
    assert verify(DATA, sign(DATA, "git", str(keys[0])), allowed, "git", revoked=revoked).state != "good"


def test_a_key_counts_at_the_moment_of_signing(keys, tmp_path):
    file = tmp_path / "allowed"
    file.write_text(f'pat@example.org valid-before="20300101000000" {public(keys[0])}\n')
    signature = sign(DATA, "git", str(keys[0]))
    before, after = 1_800_000_000, 2_000_000_000
    assert verify(DATA, signature, file, "git", at=before).state == "good"
    assert verify(DATA, signature, file, "git", at=after).state == "unknown"
    assert verify(DATA, signature, file, "git", at=10**30).state == "unknown"


def test_no_key_a_broken_one_or_no_program_is_an_error(keys, tmp_path):
    with pytest.raises(RefusedError, match="there is no key"):
        sign(DATA, "git", str(tmp_path / "none"))
    broken = tmp_path / "broken"
    broken.write_text("no key\n")
    with pytest.raises(RefusedError, match="does not sign with"):
        sign(DATA, "git", str(broken))
    with pytest.raises(RefusedError, match="cannot start no-such-program"):
        sign(DATA, "git", str(keys[0]), program="no-such-program")
    with pytest.raises(RefusedError, match="there is no file"):
        verify(DATA, "", tmp_path / "none", "git")


def test_a_literal_key_is_signed_with_by_the_agent(keys, allowed):
    agent = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    socket, pid = (line.split(";")[0].partition("=")[2] for line in agent.splitlines()[:2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSH_AUTH_SOCK", socket)
        try:
            with pytest.raises(RefusedError, match="does not sign with key::ssh-ed25519"):
                sign(DATA, "git", f"key::{public(keys[0])}")
            subprocess.run(["ssh-add", "-q", str(keys[0])], check=True, stderr=subprocess.DEVNULL)
            for key in (f"key::{public(keys[0])}", public(keys[0]), str(keys[0].with_suffix(".pub"))):
                assert verify(DATA, sign(DATA, "git", key), allowed, "git").state == "good"
        finally:
            os.kill(int(pid), 15)


@pytest.mark.skipif(not HAS_GPG, reason="gpg is not installed")
def test_gpg_signs_and_knows_good_bad_unknown_and_untrusted(tmp_path, monkeypatch):
    # gpg's agent listens on a socket, whose path must be short
    home = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    monkeypatch.setenv("GNUPGHOME", str(home))
    make = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key"]
    try:
        subprocess.run([*make, "Pat <pat@example.org>", "ed25519", "sign"], check=True, capture_output=True)
        signature = sign_gpg(DATA, "pat@example.org")
        verdict = verify_gpg(DATA, signature)
        assert (verdict.state, verdict.signer) == ("good", "Pat <pat@example.org>")
        assert verify_gpg(DATA + b"x", signature).state == "bad"
        assert verify_gpg(DATA, "rubbish").state == "bad"
        with pytest.raises(RefusedError, match="does not sign as eve"):
            sign_gpg(DATA, "eve@example.org")
        untrusted = subprocess.run(
            ["gpg", "--import-ownertrust"], input=_trust(2), check=True, capture_output=True
        )
        assert untrusted.returncode == 0
        assert verify_gpg(DATA, signature).reason == "gpg does not trust this key"
        monkeypatch.setenv("GNUPGHOME", str(tmp_path))
        tmp_path.chmod(0o700)
        assert verify_gpg(DATA, signature) == Verdict("unknown", key=verdict.key, reason=NO_KEY)
    finally:
        for folder in (home, tmp_path):
            subprocess.run(["gpgconf", "--homedir", str(folder), "--kill", "all"], check=False)
        shutil.rmtree(home)


NO_KEY = "gpg does not have this key"


def _trust(level: int) -> bytes:
    listed = subprocess.run(
        ["gpg", "--with-colons", "--list-keys"], capture_output=True, text=True, check=True
    )
    fingerprint = next(line.split(":")[9] for line in listed.stdout.splitlines() if line.startswith("fpr:"))
    return f"{fingerprint}:{level}:\n".encode()
