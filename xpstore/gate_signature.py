"""Signatures on decisions of a gate: somebody stands for the figures, and a server need not measure again.

    gates/<ab>/<record id>.json            the decision
    gates/<ab>/<record id>.<hash>.sig      a signature of that file's bytes by ssh-keygen, for `xp-gate`

A signature is named by its own content, so several people can sign one decision, and nobody can be kept from
it by a file that is there already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import evidence, measured, signatures
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from xpstore.git import Repo
    from xpstore.location import Location

NAMESPACE = "xp-gate"
"""What they are for: a signature of the same key on a commit is worth nothing here."""
SUFFIX = ".sig"
SETTING = "xp.signGates"
"""The setting of git by which a machine that measures signs what it decides."""
_YES = frozenset({"true", "yes", "on", "1"})


def is_wanted(repo: Repo) -> bool:
    """Return whether decisions that are made here are signed."""
    return (repo.setting(SETTING) or "").lower() in _YES


def is_own_wanted(repo: Repo) -> bool:
    """Return whether decisions that are made here rest on figures of this machine alone; signed ones do."""
    return is_wanted(repo) or (repo.setting(measured.SETTING) or "").lower() in _YES


def sign(loc: Location, path: str, data: bytes) -> str:
    """Sign a decision with the user's ssh key, put the signature on record and return its path.

    `path` and `data` are those of the decision in the evidence branch. Raises RefusedError where git's
    configuration names no key, or ssh-keygen fails.
    """
    signature = signatures.ssh_signer(
        loc.repo, NAMESPACE, f"decisions of the gate are signed here ({SETTING})"
    )(data)
    file = evidence.EvidenceFile(signature_path(path, signature), signature.encode())
    evidence.write(loc, [file], f"Sign {path.rpartition('/')[2]}")
    return file.path


def signature_path(path: str, signature: str) -> str:
    """Return where a signature of the decision at a path is kept."""
    return f"{prefix_of(path)}{content_id(signature)}{SUFFIX}"


def prefix_of(path: str) -> str:
    """Return what the paths of all signatures of the decision at a path begin with."""
    return f"{path.removesuffix('.json')}."
