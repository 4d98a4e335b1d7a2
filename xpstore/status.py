"""Promote, deprecate, archive: a plan that changes the `status:` of experiences and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING

from xpstore import decision, events, history, layout
from xpstore.errors import NotFoundError, RefusedError, UsageError
from xpstore.experience import STATUSES, PolicyStatus
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.decision import Gating
    from xpstore.experience import Experience
    from xpstore.location import Location

VERBS: dict[PolicyStatus, str] = {
    "draft": "Withdraw",
    "staging": "Stage",
    "production": "Promote",
    "deprecated": "Deprecate",
    "archived": "Archive",
}


@dataclass(frozen=True, slots=True)
class StatusResult:
    """The status change, and whom it did not concern."""

    plan: PolicyUpdatePlan
    already: tuple[str, ...]
    """Names that had the status before."""
    commit: str = ""
    """The new commit; "" in a dry run."""
    branch: str = ""
    """Where it has landed, or waits; "" in a dry run."""
    verdict: str = ""
    """Why the gate accepts it, where one was asked."""

    @property
    def plans(self) -> tuple[PolicyUpdatePlan]:
        """What lands."""
        return (self.plan,)


def set_status(  # noqa: PLR0913  # the options of the verbs
    loc: Location,
    names: Sequence[str],
    status: PolicyStatus,
    branch: str,
    *,
    dry_run: bool = False,
    gating: Gating | None = None,
) -> StatusResult:
    """Give experiences a status on a branch; every other byte of their files stays.

    `gating`: how it gets there (decision.py).

    Raises NotFoundError for an unknown name, RefusedError where all of them have the status already,
    HeldError where the gate does not accept it, and DocumentError for a file whose front matter does not
    parse. Nothing is written then, but for what the gate has held.
    """
    if status not in STATUSES:
        raise UsageError(f"'{status}' is no status", hint=f"one of {', '.join(STATUSES)}")
    if dry_run:
        return _planned(loc, names, status, events.commit_of(loc, branch))
    settled = decision.land(loc, branch, lambda tip: _planned(loc, names, status, tip), gating)
    made = settled.decision
    return StatusResult(made.plan, made.already, settled.commits[0], settled.branch, settled.verdict)


def _planned(loc: Location, names: Sequence[str], status: PolicyStatus, tip: str) -> StatusResult:
    known = snapshot(loc, tip).by_name
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            close = get_close_matches(name, known, 1)
            raise NotFoundError(
                f"there is no experience '{name}'",
                hint=f"did you mean '{close[0]}'?" if close else _listing(loc, tip),
            )
    already = tuple(name for name in wanted if known[name].status == status)
    items = tuple(_item(known[name], status) for name in wanted if name not in already)
    if not items:
        raise RefusedError(f"already {status}: {', '.join(already) or 'nothing was named'}")
    verb = VERBS[status]
    plan = PolicyUpdatePlan(
        items=items,
        subject=f"{verb} {', '.join(i.target_experience_name for i in items)}",
        rationale=f"A person set the status to {status}.",
        base_commit=tip,
        store_id=loc.config.id,
        learner=events.PERSON,
    )
    landed = history.reachable_plan_ids(loc, [tip])
    while plan.plan_id in landed:  # promoted, deprecated, promoted again: another decision
        plan = plan.model_copy(update={"again": plan.again + 1})
    return StatusResult(plan, already)


def _listing(loc: Location, tip: str) -> str:
    """Return what lists the experiences of a commit."""
    folder = loc.at(tip).in_tree(layout.EXPERIENCES)
    return f"git ls-tree --name-only --full-tree {quote(f'{tip[:12]}:{folder}')} lists them"


def _item(experience: Experience, status: PolicyStatus) -> PolicyPlanItem:
    return PolicyPlanItem(
        kind="upsert_experience",
        target_experience_name=experience.name,
        before_content=experience.text,
        after_content=experience.document.with_fields(status=status).text,
    )
