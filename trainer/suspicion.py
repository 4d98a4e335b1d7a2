"""Holds back plans whose text gives orders or carries a secret: drafts, with the reason on the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore.document import Document
from xpstore.redact import find_secrets
from xpstore.suspect import orders

if TYPE_CHECKING:
    from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan


def held_back(plan: PolicyUpdatePlan) -> PolicyUpdatePlan:
    """Return the plan; with suspect text its pages become drafts, which no agent is given, and it says why.

    Only what the plan adds counts: what a person let in before is not questioned again.
    """
    found = {item.target_experience_name: _reasons(item) for item in plan.items}
    if not any(found.values()):
        return plan
    items = tuple(_as_draft(i) if found[i.target_experience_name] else i for i in plan.items)
    why = "; ".join(dict.fromkeys(reason for reasons in found.values() for reason in reasons))
    return plan.model_copy(update={"items": items, "suspect": why})


def _reasons(item: PolicyPlanItem) -> list[str]:
    old = {s.text for s in Document.parse(item.before_content or "").statements()}
    front = Document.parse(item.after_content or "").front
    added = [s.text for s in Document.parse(item.after_content or "").statements() if s.text not in old]
    texts = [*added, str(front.get("description", ""))]
    secrets = [f"holds what looks like a secret ({s.kind})" for t in texts for s in find_secrets(t)]
    return [*(why for text in texts for why in orders(text)), *secrets]


def _as_draft(item: PolicyPlanItem) -> PolicyPlanItem:
    if item.after_content is None:
        return item
    text = Document.parse(item.after_content).with_fields(status="draft").text
    return item.model_copy(update={"after_content": text})
