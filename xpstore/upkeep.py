"""Fold the many small packs that plans leave behind into one, with git's own rules for when.

Look-ups slow down from about fifty packs. git's automatic maintenance starts there too, but only after
git's own writing commands, which the store does not use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import gitcli, lock, pack

if TYPE_CHECKING:
    from xpstore.git import Repo

MANY = 50
"""gc.autoPackLimit of git; the user's own setting decides in the end."""
ABANDONED = 600.0
"""Seconds after which a `.keep` of ours has no writer any more."""


def fold(repo: Repo) -> bool:
    """Run git's automatic gc if there are many packs; return whether it ran.

    Safe beside writers: their packs are kept until their refs have moved. Call it after a run, not per plan.
    """
    if sum(1 for _ in repo.pack_dir.glob("*.pack")) <= MANY:
        return False
    with lock.store_lock(repo.common_dir):
        pack.sweep(repo.pack_dir, ABANDONED)
    gitcli.run(repo.place, ["gc", "--auto", "--quiet"])
    return True
