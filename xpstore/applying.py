"""Apply plans, have decided what the branch has changed too, and keep what was refused.

commit      merges what does not overlap, under the store lock: it takes no time
resolver    decides the rest, outside of any lock; where the branch moved meanwhile, only what is new
kept        a plan that was refused, or never had its turn, waits on a branch of its own for `xp resolve`
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from xpstore import kept
from xpstore.commit import commit
from xpstore.errors import Conflict, ConflictError, RepositoryError, XpError
from xpstore.item_merge import by_decision
from xpstore.resolution import Asking
from xpstore.resolver import OfflineResolver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.commit import Landed
    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location
    from xpstore.plan import PolicyUpdatePlan
    from xpstore.resolver import Resolver

ROUNDS = 32
"""How often overlaps are decided anew because the branch moves; more for each plan of a group."""
PAUSE = 0.2
"""The longest pause between two rounds, in seconds."""
OFFLINE = OfflineResolver()


def apply(  # noqa: PLR0913  # as commit, and who decides
    loc: Location,
    plans: Sequence[PolicyUpdatePlan],
    branch: str,
    *,
    start: str = "",
    extra_evidence: Sequence[EvidenceFile] = (),
    resolver: Resolver = OFFLINE,
    plans_again: bool = False,
) -> list[Landed]:
    """Apply plans as `commit` does, and have a resolver decide where plan and branch changed the same.

    Raises what `commit` raises. Where a decision is refused (ConflictError) or other processes keep moving
    the branch (RepositoryError), nothing has landed; each of the plans stays on a branch of its own, which
    the error names. Not so where the caller plans again after a refusal.
    """
    asking, open_ = Asking(resolver), list(plans)
    for number in range(ROUNDS + len(plans)):
        try:
            return commit(loc, open_, branch, start=start, extra_evidence=extra_evidence)
        except ConflictError as error:
            refused = _decide(open_, error, asking)
            if refused:
                raise _refused(loc, plans, branch, refused, keep=not plans_again) from error
        except RepositoryError as error:
            error.hint = "; ".join(filter(None, (error.hint, _kept(loc, plans))))
            raise
        # S311: jitter, no secret
        time.sleep(random.uniform(0, min(PAUSE, 0.002 * 2**number)))  # noqa: S311
    raise RepositoryError(
        f"{branch} moved {ROUNDS} times while it was decided what to keep",
        hint="; ".join(filter(None, ("run it again", _kept(loc, plans)))),
    )


def _decide(plans: list[PolicyUpdatePlan], error: ConflictError, asking: Asking) -> list[Conflict]:
    """Put the decided items into the plan that they are of; return what nobody could decide."""
    refused: list[Conflict] = []
    found = {(c.name, c.base, c.theirs): c for c in error.conflicts}
    for at, plan in enumerate(plans):
        keys = [(i.target_experience_name, i.before_content, i.after_content) for i in plan.items]
        if not found.keys() <= set(keys):
            continue
        items, merges = list(plan.items), []
        for place, key in enumerate(keys):
            conflict = found.get(key)
            if conflict is None:
                continue
            made = None if conflict.is_stale else by_decision(items[place], conflict, asking)
            if made is None:
                refused.append(conflict)
            else:
                items[place] = made.item
                merges.append(made.page)
        plans[at] = plan if refused else plan.with_items(items, merges)
        return refused
    return list(error.conflicts)


def _refused(
    loc: Location,
    plans: Sequence[PolicyUpdatePlan],
    branch: str,
    conflicts: Sequence[Conflict],
    *,
    keep: bool,
) -> ConflictError:
    names = ", ".join(dict.fromkeys(c.name for c in conflicts))
    branches = kept.keep_all(loc, plans) if keep else ()
    where = f"; kept on {', '.join(branches)}" if branches else ""
    error = ConflictError(
        f"{branch} and the plan changed the same in ways that exclude each other: {names}{where}",
        tuple(conflicts),
        kept=branches,
    )
    how = ", then ".join(f"`{command}`" for command in error.next)
    error.hint = f"decide with {how}" if how else "plan again on what the branch has now"
    return error


def _kept(loc: Location, plans: Sequence[PolicyUpdatePlan]) -> str:
    """Keep the plans, if that can be done where nothing else could; say where they are."""
    branches: tuple[str, ...] = ()
    with suppress(XpError):
        branches = kept.keep_all(loc, plans)
    return f"the plans are on {', '.join(branches)}: `xp resolve` lands one" if branches else ""
