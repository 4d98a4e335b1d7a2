"""Which pages a branch has under other names by now: what was learned about a page follows it.

As git sees it: a page that is gone and a new one that is at least half alike are one page, renamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import events, gitcli, layout

if TYPE_CHECKING:
    from xpstore.location import Location


def moved(loc: Location, base: str, tip: str) -> dict[str, str]:
    """Return the name at one commit → the name at a later one, of the pages that were renamed in between."""
    flags = ("-z", "-M", "--raw", "--diff-filter=R", "--no-abbrev", "--no-ext-diff", "--no-relative")
    tokens = gitcli.records(gitcli.run(loc.repo.place, ["diff", *flags, base, tip]))
    folders = [loc.at(commit).in_tree(layout.EXPERIENCES) for commit in (base, tip)]
    pairs = zip(tokens[1::3], tokens[2::3], strict=True)
    named = [tuple(events.experience_of(path, folders) for path in pair) for pair in pairs]
    return {old: new for old, new in named if old and new and old != new}
