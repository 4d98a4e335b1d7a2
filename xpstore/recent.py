"""The newest few events without starting a process: what `xp log -n 1` and `xp show` ask for.

Git's own filters are faster for long histories, and only git follows renames and moved folders. So this
looks at the first commits of a history itself, and leaves whatever is not plain to `events`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import events, layout
from xpstore.events import SUFFIX, Change, Entry, stamps

if TYPE_CHECKING:
    from xpstore.location import Location
    from xpstore.objects import Commit, Tree

FEW = 16
"""How many events are worth looking for here."""
AHEAD = 64
"""How many commits may lie before and between them."""


def event_of(loc: Location, commit: str) -> Entry:
    """Return one commit as `events.entry_of` does. Raises NotFoundError."""
    found = newest(loc, commit, 1, ahead=1)
    return events.with_side(loc, found[0]) if found else events.entry_of(loc, commit)


def newest(loc: Location, tip: str, limit: int, *, ahead: int = AHEAD) -> list[Entry] | None:
    """Return up to `limit` first-parent events of a history, newest first; None where git has to be asked.

    The same as `events.read` yields: merges come without their side. At most `ahead` commits are looked at.
    """
    if limit > FEW or loc.repo.is_shallow:
        return None
    here = loc.at(tip)
    root = here.in_tree(layout.EXPERIENCES)
    config = _id(here, loc.repo.commit(tip), here.in_tree(layout.CONFIG))
    found: list[Entry] = []
    commits = loc.repo.first_parents(tip)
    commit, seen = next(commits), 0
    while len(found) < limit:
        parent = next(commits, None)
        seen += 1
        if parent is None or seen > ahead or not config:
            return None
        if _id(here, parent, here.in_tree(layout.CONFIG)) != config:
            return None  # perhaps the store was moved, or begins here
        if _id(here, parent, root) != _id(here, commit, root):
            changes = _changes(here.repo.folder(parent.tree, root), here.repo.folder(commit.tree, root))
            if changes is None:
                return None
            if changes:
                found.append(_entry(loc, commit, changes))
        commit = parent
    return found


def _id(loc: Location, commit: Commit, path: str) -> str:
    entry = loc.repo.entry(commit.tree, path)
    return entry.id if entry else ""


def _changes(old: Tree, new: Tree) -> tuple[Change, ...] | None:
    """Return what changed between two folders; None where something may have been renamed."""
    found: list[Change] = []
    for name, (before, after) in old.changes(new).items():
        was, is_ = ("" if entry is None or entry.is_tree else entry.id for entry in (before, after))
        if name.endswith(SUFFIX) and (was or is_):
            title = name.removesuffix(SUFFIX)
            found.append(Change("M" if was and is_ else "A" if is_ else "D", title, title, was, is_))
    return None if {"A", "D"} <= {change.kind for change in found} else tuple(found)


def _entry(loc: Location, commit: Commit, changes: tuple[Change, ...]) -> Entry:
    return Entry(
        commit.id,
        commit.parents,
        commit.author.name,
        commit.author.email,
        commit.author.time,
        commit.message,
        changes,
        stamps(commit.message, loc.config.id),
    )
