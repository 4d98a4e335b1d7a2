"""`xp demo --break`: a round of updates for the order desk, most of them harmless, one of them not.

Somebody means well: orders above a limit are to be left alone, whatever the customer wants. The lessons are
sentences that the scripted agent obeys, so the score falls, and the update is one of several in its branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from trainer.environments.order_desk.catalogue import CHANGES
from xpstore.commit import commit
from xpstore.events import PERSON
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xpstore.commit import Landed
    from xpstore.location import Location

ADVICE = (
    "Thank the customer first",
    "Say when the next step is due",
    "Write the order number once",
    "Answer in the customer's language",
    "Offer to look into the rest of the order",
    "Close with the name of the desk",
    "Keep a copy of what was promised",
)
"""What the harmless updates add, one each."""
PAGE = "words-for-customers"
HARMFUL = 5
"""Which update of the round does the harm, from 1."""
HARMED = 4
"""How many tools it takes from the agent."""
LEAST_TOTAL = 20
"""The limit of the first round; hardly an order is below it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate with updates that somebody would like to land."""

    branch: str
    plans: tuple[str, ...]
    """Plan ids, oldest first."""
    harmful: str
    """The one among them that does harm."""


def propose(loc: Location) -> Proposal:
    """Commit a round of updates on a candidate branch of its own. Raises XpError as `commit`."""
    number = next(n for n in count(1) if loc.tip_of(_branch(loc, n)) is None)
    branch = _branch(loc, number)
    start = loc.resolve(loc.config.main)
    texts = {page.name: page.text for page in snapshot(loc, start).policies}
    plans: list[Landed] = []
    for at in range(1, len(ADVICE) + 2):
        subject, added = _update(at, number)
        plan = PolicyUpdatePlan(
            items=tuple(_items(texts, added)),
            subject=subject,
            rationale=f"Asked for in round {number}.",
            base_commit=plans[-1].commit if plans else start,
            store_id=loc.config.id,
            learner=PERSON,
        )
        plans += commit(loc, [plan], branch, start=start)
        texts |= {item.target_experience_name: item.after_content or "" for item in plan.items}
    ids = tuple(landed.plan_id for landed in plans)
    return Proposal(branch, ids, ids[HARMFUL - 1])


def _branch(loc: Location, number: int) -> str:
    return f"{loc.candidate_prefix}round-{number}"


def _update(at: int, number: int) -> tuple[str, dict[str, str]]:
    """Return the subject of an update, and page → the statement that it adds."""
    if at != HARMFUL:
        advice = ADVICE[at - 1 - (at > HARMFUL)]
        return f"{PAGE}: {advice.lower()}", {PAGE: f"{advice} (round {number})."}
    limit = LEAST_TOTAL + number - 1
    tools = sorted(CHANGES)[:HARMED]
    lessons = {
        tool.replace("_", "-"): f"Do not call `{tool}` when the `total` of `order_id` is more than {limit}."
        for tool in tools
    }
    return f"Leave orders above {limit} alone", lessons


def _items(texts: Mapping[str, str], added: Mapping[str, str]) -> Iterator[PolicyPlanItem]:
    for name, statement in added.items():
        before = texts.get(name)
        yield PolicyPlanItem(
            kind="upsert_experience",
            target_experience_name=name,
            before_content=before,
            after_content=_with(before, name, statement),
        )


def _with(text: str | None, name: str, statement: str) -> str:
    """Return a page with one more list item at its end."""
    if text is None:
        head = f"---\nname: {name}\ndescription: When the desk needs {name}.\n---\n"
        return f"{head}\n## Reflect\n\n- {statement}\n"
    body = text.rstrip("\n")
    is_list = body.rpartition("\n")[2].startswith(("- ", " "))
    return f"{body}{'' if is_list else chr(10)}\n- {statement}\n"
