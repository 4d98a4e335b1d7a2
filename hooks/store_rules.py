"""Where stores may lie on a branch that agents read: no push puts pages in the place of a store's.

Which store a reader finds is said by the xp.toml files of the branch: the nearest one upwards, or the only
one. A push may bring code, and move a store as it is. A store more, a second file with a store's id, a folder
that becomes another store's, and two stores that change places would show what no gate has looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.remark import Remark
from xpstore import layout
from xpstore.evaluation import experiences_at
from xpstore.location import config_folders, stores_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xpstore.git import Repo
    from xpstore.location import Location

_OWNER = "the server's owner can move a store: by git itself, on the server"
_NEW = "where that is wanted: git config xp.allowNewStores true, on the server, until it is pushed"
_KNOWN_BY = ("main", "name")


def check(repo: Repo, old: str, new: str, *, allows_new: bool) -> list[Remark]:
    """Return what speaks against the stores of one commit where there were those of another.

    Every store of `old` counts, whichever branch it is read from. `allows_new` lets a store come that was not
    there, in a folder that was no store's. Raises RepositoryError where something cannot be read.
    """
    before, _ = stores_at(repo, repo.commit(old).tree)
    after, unreadable = stores_at(repo, repo.commit(new).tree)
    owners = {loc.prefix: loc.config.id for loc in before}
    known = dict.fromkeys(owners.values())
    why = f": {unreadable.message}" if unreadable else ""
    found = [*_comers(owners, [loc for loc in after if loc.config.id not in known], allows_new=allows_new)]
    for each in known:
        was = [loc for loc in before if loc.config.id == each]
        now = [loc for loc in after if loc.config.id == each]
        found += (
            _kept(owners, was, now, old, new)
            if now
            else [Remark(f"the push takes store {each} away{why}", _OWNER)]
        )
    return found or [*_shadows(repo, old, new, after)]


def _comers(owners: dict[str, str], comers: Sequence[Location], *, allows_new: bool) -> Iterator[Remark]:
    for loc in comers:
        if loc.prefix in owners:
            text = f"{_file(loc.prefix)} is of store {owners[loc.prefix]}, the push makes it another one's"
            yield Remark(text, _OWNER)
        elif not allows_new:
            yield Remark(f"{_file(loc.prefix)} begins a store beside those that agents read here", _NEW)


def _kept(
    owners: dict[str, str], was: Sequence[Location], now: Sequence[Location], old: str, new: str
) -> Iterator[Remark]:
    """Yield what is wrong with where a store is now; `was` has several places where it was there twice."""
    store = was[0]
    places, name = {loc.prefix for loc in was}, store.config.id
    moved = [loc for loc in now if loc.prefix not in places]
    for loc in now:
        for key in _KNOWN_BY:
            if getattr(loc.config, key) != getattr(store.config, key):
                yield Remark(
                    f"the push changes `{key}` of {_file(loc.prefix)}, by which the store is known here",
                    _OWNER,
                )
    for loc in moved:
        if loc.prefix in owners:
            yield Remark(
                f"the push puts store {name} where store {owners[loc.prefix]} was: {_file(loc.prefix)}",
                _OWNER,
            )
        elif len(now) > 1:
            yield Remark(
                f"{_file(loc.prefix)} has the id of store {name}, which is there already", "xp init makes one"
            )
        elif experiences_at(loc, new) != experiences_at(store, old):
            yield Remark(
                f"the push moves store {name} and changes its experiences", "move it in a push of its own"
            )


def _shadows(repo: Repo, old: str, new: str, stores: Sequence[Location]) -> Iterator[Remark]:
    """Yield the files that are no store's, and that readers in a store's folder would find on its way up."""
    before, after = (config_folders(repo, repo.commit(each).tree) for each in (old, new))
    for folder in {*after} - {*before} - {loc.prefix for loc in stores}:
        inside = [loc.prefix for loc in stores if not folder or loc.prefix.startswith(f"{folder}/")]
        if inside:
            yield Remark(
                f"{_file(folder)} is no store's, above the store in {inside[0]}", "move it elsewhere"
            )


def _file(prefix: str) -> str:
    return layout.join(prefix, layout.CONFIG)
