"""Splits a plan into independent parts: one commit each, so that each can be reviewed and undone."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from trainer.suspicion import held_back
from xpstore.document import Document
from xpstore.plan import PolicyPlanItem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xpstore.gradient import PatchSemanticGradient
    from xpstore.plan import PolicyUpdatePlan, RolloutRef

GRADIENTS = "gradients"
"""Key of an item's metadata: ids of gradients whose statements went there, though it is not their target."""
COLUMNS = 72  # the width of a commit message, by git's convention


def independent_parts(plan: PolicyUpdatePlan) -> list[PolicyUpdatePlan]:
    """Return plans whose items belong together, sorted by name; gradients and rollouts go with their items.

    Items belong together when one gradient touches both: as its target, as what it supersedes, or because its
    statements went there.
    """
    if not plan.items:
        return []
    parts = [_part(plan, names) for names in belonging_together(plan.items, plan.gradients)]
    return sorted(parts, key=lambda p: p.items[0].target_experience_name)


def refused_parts(
    gradients: Iterable[PatchSemanticGradient], plan: PolicyUpdatePlan
) -> list[PolicyUpdatePlan]:
    """Return a plan for every edit that its optimizer refused to merge, as it was proposed.

    Each applies to the commit that the edit was made on, and lands by a decision.
    """
    refused = plan.metadata.get("refused")
    names = set(refused) if isinstance(refused, dict) else set()
    return [_proposed(gradient, plan) for gradient in gradients if gradient.target_experience_name in names]


def _proposed(gradient: PatchSemanticGradient, plan: PolicyUpdatePlan) -> PolicyUpdatePlan:
    item = PolicyPlanItem(
        kind="upsert_experience" if gradient.after_file else "delete_experience",
        target_experience_name=gradient.target_experience_name,
        before_content=gradient.before_file.content if gradient.before_file else None,
        after_content=gradient.after_file.content if gradient.after_file else None,
        confidence=gradient.confidence,
        evidence_trajectory_uris=gradient.evidence_trajectory_uris,
    )
    return plan.model_copy(
        update={
            "items": (item,),
            "gradients": (gradient,),
            "base_commit": gradient.base_commit or plan.base_commit,
            "metadata": {key: value for key, value in plan.metadata.items() if key == "model"},
        }
    )


def belonging_together(
    items: Sequence[PolicyPlanItem], gradients: Iterable[PatchSemanticGradient]
) -> list[set[str]]:
    """Return the names of the items in groups that one gradient or more connects."""
    names = {item.target_experience_name for item in items}
    groups: list[set[str]] = [{item.target_experience_name} for item in items]
    for gradient in gradients:
        went = {item.target_experience_name for item in items if gradient.id in _sources(item)}
        touched = went | ({gradient.target_experience_name, *gradient.supersedes} & names)
        joined = [g for g in groups if g & touched]
        if len(joined) > 1:
            groups = [g for g in groups if not g & touched]
            groups.append(set().union(*joined))
    return groups


def touching(
    items: Iterable[PolicyPlanItem], gradients: Iterable[PatchSemanticGradient]
) -> tuple[PatchSemanticGradient, ...]:
    """Return the gradients that have a part in these items."""
    names, went = set[str](), set[str]()
    for item in items:
        names.add(item.target_experience_name)
        went |= _sources(item)
    return tuple(g for g in gradients if g.id in went or names & {g.target_experience_name, *g.supersedes})


def _sources(item: PolicyPlanItem) -> frozenset[str]:
    """Return the ids of the gradients whose statements went to an item that is not their target."""
    found = item.metadata.get(GRADIENTS)
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


def _part(plan: PolicyUpdatePlan, names: set[str]) -> PolicyUpdatePlan:
    items = tuple(
        sorted(
            (i for i in plan.items if i.target_experience_name in names),
            key=lambda i: i.target_experience_name,
        )
    )
    gradients = touching(items, plan.gradients)
    cited = {r for g in gradients for r in g.rollouts}
    rollouts = tuple(r for r in plan.rollouts if not gradients or r.id in cited)
    part = plan.model_copy(
        update={
            "items": items,
            "gradients": gradients,
            "rollouts": rollouts,
            "subject": plan.subject or _subject(items),
            "rationale": plan.rationale or _rationale(gradients, rollouts),
        }
    )
    return held_back(part)


def _subject(items: Sequence[PolicyPlanItem]) -> str:
    """Say what changes in words such as `book-reservation: learn 2 lessons, update 1`."""
    item = items[0]
    more = f" (and {len(items) - 1} more)" if len(items) > 1 else ""
    if item.after_content is None:
        return f"{item.target_experience_name}: remove the page{more}"
    before, after = _statements(item.before_content), _statements(item.after_content)
    counts = {
        "learn": len(after.keys() - before.keys()),
        "update": sum(after[k] != before[k] for k in after.keys() & before.keys()),
        "drop": len(before.keys() - after.keys()),
    }
    verbs = [(v, n) for v, n in counts.items() if n]
    if not verbs:
        return f"{item.target_experience_name}: update the front matter{more}"
    (verb, number), rest = verbs[0], verbs[1:]
    words = [f"{verb} {number} lesson{'' if number == 1 else 's'}", *(f"{v} {n}" for v, n in rest)]
    return f"{item.target_experience_name}: {', '.join(words)}{more}"


def _statements(text: str | None) -> dict[str, str]:
    """Key → text of what counts as a lesson: everything outside the Situation section."""
    if text is None:
        return {}
    return {s.key: s.text for s in Document.parse(text).statements() if s.section.casefold() != "situation"}


def _rationale(gradients: Sequence[PatchSemanticGradient], rollouts: Sequence[RolloutRef]) -> str:
    failed = sum(r.passed is False for r in rollouts)
    plural = "" if len(rollouts) == 1 else "s"
    evidence = f"Evidence: {len(rollouts)} rollout{plural}, {failed} failed." if rollouts else ""
    reasons = dict.fromkeys(_wrapped(g.rationale) for g in gradients if g.rationale.strip())
    return "\n\n".join([*([evidence] if evidence else []), *reasons])


def _wrapped(text: str) -> str:
    """Wrap prose as git's own messages are; names and quoted errors stay whole."""
    return textwrap.fill(" ".join(text.split()), COLUMNS, break_long_words=False, break_on_hyphens=False)
