"""A server takes every push as one pack: git's housekeeping may remove single objects of one under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import gitcli

if TYPE_CHECKING:
    from xpstore.git import Repo

SETTING = "receive.unpackLimit"
_OURS = "xp.setUnpackLimit"
"""Says that the setting was not there before."""


def set_up(repo: Repo) -> None:
    """Set it, where the owner has set nothing. Raises RepositoryError."""
    if gitcli.attempt(repo.place, ["config", "--local", "--get", SETTING]).code:
        gitcli.run(repo.place, ["config", "--local", _OURS, "true"])
        gitcli.run(repo.place, ["config", "--local", SETTING, "1"])


def take_out(repo: Repo) -> None:
    """Take it out again, where `set_up` has set it and nobody has changed it since."""
    if gitcli.attempt(repo.place, ["config", "--local", "--get", _OURS]).code:
        return
    now = gitcli.attempt(repo.place, ["config", "--local", "--get", SETTING]).out
    if now == b"1\n":
        gitcli.run(repo.place, ["config", "--local", "--unset-all", SETTING])
        drop_section(repo, "receive")
    gitcli.run(repo.place, ["config", "--local", "--unset-all", _OURS])
    drop_section(repo, "xp")


def drop_section(repo: Repo, section: str) -> None:
    """Remove the header of a section of the configuration in which nothing is left."""
    pattern = rf"^{section}\."
    if gitcli.attempt(repo.place, ["config", "--local", "--get-regexp", pattern]).code:
        gitcli.attempt(repo.place, ["config", "--local", "--remove-section", section])
