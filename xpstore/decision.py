"""Land a decision of a person (undos, status): planned on the tip, and anew where the tip moved meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from xpstore import commit, events
from xpstore.errors import ConflictError, RepositoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xpstore.location import Location
    from xpstore.plan import PolicyUpdatePlan

ATTEMPTS = 8


class Decision(Protocol):
    """Anything that carries the plans to land."""

    @property
    def plans(self) -> Sequence[PolicyUpdatePlan]:
        """The plans, computed on one tip, each after the one before it."""
        ...


D = TypeVar("D", bound=Decision)


def land(loc: Location, branch: str, decide: Callable[[str], D]) -> tuple[D, list[str]]:
    """Return the decision that was landed and its commits: all of them land, or none.

    `decide` gets the tip; what it raises ends it.

    Raises ConflictError where the plan does not fit the tip that it was made on, RepositoryError where the
    branch keeps moving.
    """
    for _ in range(ATTEMPTS):
        tip = events.commit_of(loc, branch)
        decision = decide(tip)
        try:
            landed = commit.commit(loc, decision.plans, branch, is_exact=True)
        except ConflictError:
            if events.commit_of(loc, branch) == tip:
                raise
            continue
        return decision, [one.commit for one in landed]
    raise RepositoryError(f"{branch} keeps moving", hint="run it again")
