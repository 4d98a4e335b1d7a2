"""Plans that were on a branch, were lost with its last commits, and are on record in the evidence.

Evidence is durable before the branch that cites it moves, so the record of the newest plan outlives its
commit. It has everything but the texts of the pages: those are in the patches beside it.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from xpstore import evidence, gitcli, history, layout, record, refill
from xpstore.commit import commit
from xpstore.errors import XpError
from xpstore.hashing import blob_id
from xpstore.patchfile import read_patch
from xpstore.salvage import Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.location import Location
    from xpstore.plan import PolicyUpdatePlan


def apply_again(loc: Location, ref: str, since: int) -> list[Fault]:
    """Apply the plans for a branch that went on record since then (Unix time) and that it has not.

    As one group: files that are checked out may be as the last of them left them. If that fails, they stay on
    record, and each says why.
    """
    known = history.reachable_plan_ids(loc, [ref])
    waiting = [row for row in _recorded(loc, ref, since) if row[0] not in known]
    problem = f"it is not on {ref.removeprefix(layout.HEADS)} any more"
    try:
        for plan_id, _ in waiting:
            _write_pages(loc, plan_id)
        plans = [record.plan_on_record(loc, plan_id, digest) for plan_id, digest in waiting]
        landed = commit(loc, _stacked(plans), ref) if plans else []
    except XpError as error:
        return [Fault(f"plan {plan_id}", f"{problem}: {error}") for plan_id, _ in waiting]
    done = "applied again from its record, as "
    return [Fault(f"plan {one.plan_id}", problem, f"{done}{one.commit[:12]}") for one in landed]


def _stacked(plans: Sequence[PolicyUpdatePlan]) -> list[PolicyUpdatePlan]:
    """Return the plans, each after those whose pages it changes: on record a group has no order."""
    made = {item.result_blob: plan for plan in plans for item in plan.items if item.after_content is not None}
    order: dict[str, PolicyUpdatePlan] = {}

    def put(plan: PolicyUpdatePlan, above: frozenset[str]) -> None:
        for item in plan.items:
            below = made.get(item.base_blob)
            if below and below.plan_id not in {*order, *above, plan.plan_id}:
                put(below, above | {plan.plan_id})
        order.setdefault(plan.plan_id, plan)

    for plan in plans:
        put(plan, frozenset())
    return list(order.values())


def _recorded(loc: Location, ref: str, since: int) -> list[tuple[str, str]]:
    """Return ids and digests of the plans that went on record for a branch, oldest first."""
    tip = evidence.tip(loc)
    branch = ref.removeprefix(layout.HEADS)
    subjects = {f"Evidence for {branch}", f"Evidence for {ref}"}
    made = takewhile(lambda one: one.committer.time >= since, loc.repo.first_parents(tip) if tip else ())
    asked = "".join(f"{one.id}\n" for one in made if one.message.strip() in subjects)
    flags = ["diff-tree", "--stdin", "-r", "-z", "--root", "--no-commit-id", "--name-only", "--diff-filter=A"]
    names = gitcli.records(gitcli.run(loc.repo.place, [*flags, "--", "gradients"], stdin=asked.encode()))
    found = [(name.split("/")[2], name.split("/")[3][:-5]) for name in names if name.endswith(".json")]
    return found[::-1]


def _write_pages(loc: Location, plan_id: str) -> None:
    """Write the pages that a plan's patches have, where they are lost."""
    for name, data in evidence.patches(loc, plan_id).items():
        gradient = read_patch(data, name)
        for file in (gradient.before_file, gradient.after_file):
            if file and not loc.repo.has(blob_id(file.content)):
                refill.put(loc.repo, "blob", file.content.encode())
    loc.repo.reopen()
