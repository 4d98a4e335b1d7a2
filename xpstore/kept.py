"""Plans that could not be applied are kept: each on a branch of its own, where `xp resolve` finds it.

The branch `xp/conflict/<plan id>` starts at the commit that the plan was made on, so it applies there as it
is, with its evidence; landing it is then a matter of deciding what the two sides exclude.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import layout
from xpstore.commit import commit
from xpstore.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.location import Location
    from xpstore.plan import PolicyUpdatePlan


def folder(loc: Location) -> str:
    """Return the full name of the folder of branches that keep plans, with a slash at its end."""
    return f"{loc.evidence_ref.rpartition('/')[0]}/conflict/"


def keep_all(loc: Location, plans: Sequence[PolicyUpdatePlan]) -> tuple[str, ...]:
    """Keep each plan on a branch of its own; one that builds on the plan before it, on top of that one.

    Return the branches' short names; once more changes nothing. A plan that was made on nothing that is here
    is left out.
    """
    branches: list[str] = []
    for plan in plans:
        branch = f"{folder(loc)}{plan.plan_id}".removeprefix(layout.HEADS)
        for start in (plan.base_commit or "", *branches[-1:]):
            try:
                commit(loc, [plan], branch, start=start, is_exact=True)
            except (ConflictError, NotFoundError):
                continue
            branches.append(branch)
            break
    return tuple(branches)


def waiting(loc: Location) -> tuple[str, ...]:
    """Return the short names of the branches whose plans have not landed on main."""
    main = loc.tip_of(loc.main_ref)
    return tuple(
        ref.removeprefix(layout.HEADS)
        for ref, tip in loc.repo.refs(folder(loc)).items()
        if main is None or not loc.repo.is_ancestor(tip, main)
    )
