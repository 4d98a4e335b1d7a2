"""What `context` and `search` say on standard error where they find nothing, and where it may be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore.cli.output import note

if TYPE_CHECKING:
    from xpstore.experience import ExperienceSet
    from xpstore.location import Location


def tell_nothing(location: Location, experiences: ExperienceSet, ref: str, what: str) -> None:
    """Say that nothing was found at a ref, `what` names what was looked for; hint at open candidates."""
    from xpstore.history import candidates

    count = len(experiences.policies)
    note(f"no {what}" if count else f"there are no experiences on {ref}")
    others = [branch for branch in candidates(location) if branch != ref]
    if others:
        more = f", {len(others) - 1} more in xp status" if others[1:] else ""
        note(f"hint: Not landed yet, and readable with --ref {others[-1]}{more}.")
    elif not count:
        note("hint: 'xp train FILE...' learns from recordings.")
