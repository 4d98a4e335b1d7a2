"""What the owner of a server has set there, by git config: whose word counts, and what may change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xpstore.git import Repo

SIGNERS = "xp.allowedSigners"
FREES_GATE = "xp.allowGateChange"
SIGNED = "xp.requireSignatures"
NEW_STORES = "xp.allowNewStores"
GATED = "xp.requireGate"
_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True, slots=True)
class Trust:
    """The settings of one server."""

    signers: Path | None = None
    """The allowed-signers file of ssh-keygen; None where nobody's signature counts."""
    frees_gate: bool = False
    """Whether a push may change by what the next one is judged: xp.toml, and the cases of the gate."""
    wants_signed: bool = False
    """Whether every commit that changes experiences must be signed, people's too, whatever xp.toml says."""
    allows_stores: bool = False
    """Whether a push may bring a store beside those that are there."""
    needs_gate: bool = True
    """Whether experiences change only by what a gate has accepted."""


def read(repo: Repo) -> Trust:
    """Return the settings of a repository; a relative file lies in its git directory."""
    file = repo.setting(SIGNERS)
    signers = repo.git_dir / Path(file).expanduser() if file else None
    said = {key: (repo.setting(key) or "").lower() for key in (FREES_GATE, SIGNED, NEW_STORES, GATED)}
    return Trust(
        signers,
        frees_gate=said[FREES_GATE] in _YES,
        wants_signed=said[SIGNED] in _YES,
        allows_stores=said[NEW_STORES] in _YES,
        needs_gate=said[GATED] not in _NO,
    )
