"""What `context` and `search` say on standard error where they find nothing, and where it may be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore.cli.output import note

if TYPE_CHECKING:
    from xpstore.location import Location


def tell_nothing(location: Location, count: int, ref: str, what: str) -> None:
    """Say that nothing was found among `count` experiences at a ref, and hint at open candidates.

    `what` names what was looked for.
    """
    from xpstore.history import candidates

    note(f"no {what}" if count else f"there are no experiences on {ref}")
    others = [branch for branch in candidates(location) if branch != ref]
    if others:
        more = f", {len(others) - 1} more in xp status" if others[1:] else ""
        note(f"hint: not landed yet, and readable with --ref {others[-1]}{more}")
    elif not count:
        note("hint: 'xp train FILE...' learns from recordings.")
