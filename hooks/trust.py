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
_YES = frozenset({"true", "yes", "on", "1"})


@dataclass(frozen=True, slots=True)
class Trust:
    """The settings of one server."""

    signers: Path | None = None
    """The allowed-signers file of ssh-keygen; None where nobody's signature counts."""
    frees_gate: bool = False
    """Whether a push may change the thresholds of xp.toml."""
    wants_signed: bool = False
    """Whether every commit that changes experiences must be signed, people's too, whatever xp.toml says."""


def read(repo: Repo) -> Trust:
    """Return the settings of a repository; a relative file lies in its git directory."""
    file = repo.setting(SIGNERS)
    signers = repo.git_dir / Path(file).expanduser() if file else None
    frees_gate, wants_signed = ((repo.setting(key) or "").lower() in _YES for key in (FREES_GATE, SIGNED))
    return Trust(signers, frees_gate, wants_signed)
