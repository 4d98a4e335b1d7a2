"""Land a decision of a person (undo, status): planned on the tip, and anew where the tip moved meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from xpstore import commit, events
from xpstore.errors import ConflictError, RepositoryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from xpstore.location import Location
    from xpstore.plan import PolicyUpdatePlan

ATTEMPTS = 8


class Decision(Protocol):
    """Anything that carries the plan to land."""

    @property
    def plan(self) -> PolicyUpdatePlan:
        """The plan, computed on one tip."""
        ...


D = TypeVar("D", bound=Decision)


def land(loc: Location, branch: str, decide: Callable[[str], D]) -> tuple[D, str]:
    """Return the decision that was landed and its commit. `decide` gets the tip; what it raises ends it.

    Raises ConflictError where the plan does not fit the tip that it was made on, RepositoryError where the
    branch keeps moving.
    """
    for _ in range(ATTEMPTS):
        tip = events.commit_of(loc, branch)
        decision = decide(tip)
        try:
            (landed,) = commit.commit(loc, [decision.plan], branch)
        except ConflictError:
            if events.commit_of(loc, branch) == tip:
                raise
            continue
        return decision, landed.commit
    raise RepositoryError(f"{branch} keeps moving", hint="run it again")
