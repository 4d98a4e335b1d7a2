"""Holds back plans whose text gives orders or carries a secret, or that a recording with orders in it taught.

Their pages are drafts, and the reason is on the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.offline.objects import leaves
from xpstore.document import Document
from xpstore.redact import find_secrets
from xpstore.suspect import instructions, orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trainer.domain import Rollout
    from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan

SUSPECT = "suspect"
"""Key of a gradient's metadata: why what it was learned from is not to be trusted. A model read it."""


def why_suspect(rollouts: Iterable[Rollout]) -> str:
    """Return what orders these rollouts give to whoever learns from them: users, tools, tasks and scores."""
    texts = (text for rollout in rollouts for text in _from_outside(rollout))
    return "; ".join(dict.fromkeys(why for text in texts for why in instructions(text)))


def _from_outside(rollout: Rollout) -> Iterator[str]:
    """Yield what somebody else wrote: not the agent, nor who gave it its instructions."""
    for message in rollout.messages:
        if message.role not in {"system", "developer", "assistant"}:
            yield from (message.role, message.text)
        yield from (text for t in message.tools for text in (t.tool_name, t.tool_output))
    case, scored = rollout.case, rollout.evaluation
    yield from (case.name, case.task_signature, case.rubric.description)
    yield from (text for c in case.rubric.criteria for text in (c.name, c.description))
    yield from (text for leaf in leaves(case.input) for text in leaf if isinstance(text, str))
    if scored is not None:
        yield from scored.feedback
        yield from (text for r in scored.criterion_results for text in (r.criterion_name, *r.feedback))


def held_back(plan: PolicyUpdatePlan) -> PolicyUpdatePlan:
    """Return the plan; with suspect text its pages become drafts, which no agent is given, and it says why.

    Of the text, only what the plan adds counts: what a person let in before is not questioned again.
    """
    found = {i.target_experience_name: [*_reasons(i), *_sources(plan, i)] for i in plan.items}
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


def _sources(plan: PolicyUpdatePlan, item: PolicyPlanItem) -> list[str]:
    """Return what is wrong with the recordings behind an item: of its edits, and of those that went to it."""
    name, went = item.target_experience_name, item.metadata.get("gradients")  # plan_parts.GRADIENTS
    ids = went if isinstance(went, list) else []
    edits = [g for g in plan.gradients if name in (g.target_experience_name, *g.supersedes) or g.id in ids]
    found = dict.fromkeys(str(why) for g in edits if (why := g.metadata.get(SUSPECT)))
    return [f"was learned from a recording that {why}" for why in found]


def _as_draft(item: PolicyPlanItem) -> PolicyPlanItem:
    if item.after_content is None:
        return item
    text = Document.parse(item.after_content).with_fields(status="draft").text
    return item.model_copy(update={"after_content": text})
