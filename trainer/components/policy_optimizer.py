"""PatchMergePolicyOptimizer: merges a whole batch of gradients into one plan (RFC §6.6, §10.3)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from trainer.patch_merge import PatchMergeContextProvider, PatchMergePatch, trace
from trainer.plan_parts import GRADIENTS, belonging_together, touching
from xpstore.duplicates import Change, Shelf, find
from xpstore.names import fold
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.context import PatchMergePolicyOptimizerContext
    from trainer.interfaces import PatchMerger
    from trainer.patch_merge import MergeOperation
    from trainer.similarity import Similarity
    from xpstore.duplicates import Duplicate
    from xpstore.experience import ExperienceSet
    from xpstore.gradient import PatchSemanticGradient
    from xpstore.settings import DuplicateSettings


class PatchMergePolicyOptimizer:
    """Gradients → one plan. The merger sees all of them at once; nothing is written."""

    def __init__(self, merger: PatchMerger, similarity: Similarity | None = None) -> None:
        self._merger = merger
        self._similarity = similarity
        """What finds pages that may say the same; by their words where nobody says otherwise."""

    async def plan(
        self,
        gradients: Sequence[PatchSemanticGradient],
        policy_set: ExperienceSet,
        context: PatchMergePolicyOptimizerContext,
    ) -> PolicyUpdatePlan:
        """Return the plan.

        `metadata["refused"]` names targets that could not be merged and why, whose names are twins of others,
        or that say what another page says where the context refuses that; `metadata["duplicates"]` has
        what is said twice, and `metadata["fallbacks"]` what was merged without the model that was asked, and
        why; `metadata["idle"]` has gradients that change nothing, as a model decided, and why.
        """
        if not gradients:
            return PolicyUpdatePlan(run_id=context.run_id, base_commit=policy_set.snapshot_id or None)
        patches = [PatchMergePatch.from_gradient(g) for g in gradients]
        seen = await PatchMergeContextProvider(patches, policy_set, self._similarity).prefetch()
        outcome = await self._merger.merge(seen)
        trace.debug("merge output\n%s", outcome.model_dump_json(indent=2))
        items = tuple(
            item for op in outcome.operations if (item := _item(op, gradients, policy_set)) is not None
        )
        refused = {r.name: r.reason for r in outcome.refused}
        gone = _unsaid(items, gradients, _twins(items, policy_set))
        items = _without(items, gone)
        refused |= gone
        repeated = _repeated(items, policy_set, context.duplicates)
        if context.duplicates.action == "refuse":
            gone = _unsaid(items, gradients, {one.page: one.sentence for one in repeated})
            items = _without(items, gone)
            refused |= gone
        metadata: dict[str, JsonValue] = {"refused": dict(refused)} if refused else {}
        if outcome.fallbacks:
            metadata["fallbacks"] = {one.name: one.reason for one in outcome.fallbacks}
        if outcome.idle:
            metadata["idle"] = dict(outcome.idle)
        if repeated:
            metadata["duplicates"] = [dict(asdict(one)) for one in repeated]
        return PolicyUpdatePlan(
            items=items,
            gradients=tuple(g for g in gradients if g.target_experience_name not in refused),
            run_id=context.run_id,
            base_commit=policy_set.snapshot_id or None,
            metadata=metadata,
        )


def _without(items: Sequence[PolicyPlanItem], gone: Mapping[str, str]) -> tuple[PolicyPlanItem, ...]:
    return tuple(item for item in items if item.target_experience_name not in gone)


def _twins(items: Sequence[PolicyPlanItem], policy_set: ExperienceSet) -> dict[str, str]:
    """Return the new pages whose names are those of others but for case or joiners, and why they cannot be.

    Edits that know nothing of each other may choose such names; the store takes only one, and would refuse
    the whole batch for the other (xpstore/guards.py).
    """
    created = [item.target_experience_name for item in items if item.before_content is None]
    if not created:
        return {}
    known = {fold(page.name): page.name for page in policy_set.policies}
    first = {name: known.setdefault(fold(name), name) for name in created}
    return {name: f"it would be the twin of {other}" for name, other in first.items() if other != name}


def _unsaid(
    items: Sequence[PolicyPlanItem], gradients: Sequence[PatchSemanticGradient], said: Mapping[str, str]
) -> dict[str, str]:
    """Return what is not planned, by what is said against it: `said`, and what belongs together with it."""
    gone: dict[str, str] = {}
    for part in belonging_together(items, gradients):
        if not part & said.keys():
            continue
        mine = [item for item in items if item.target_experience_name in part]
        for name in sorted(part | {g.target_experience_name for g in touching(mine, gradients)}):
            why = f"it belongs together with {', '.join(sorted(part & said.keys()))}"
            gone[name] = said.get(name, why)
    return gone


def _repeated(
    items: Sequence[PolicyPlanItem], policy_set: ExperienceSet, rules: DuplicateSettings
) -> tuple[Duplicate, ...]:
    """Return what the items say that other pages say already, or will."""
    if rules.action == "ignore" or not items:
        return ()
    changes = {i.target_experience_name: Change(i.before_content, i.after_content) for i in items}
    now = {page.name: page.text for page in policy_set.policies}
    planned = {name: change.after for name, change in changes.items() if change.after is not None}
    with Shelf(now | planned) as pages:
        return find(changes, [pages], rules)


def _item(
    operation: MergeOperation, gradients: Sequence[PatchSemanticGradient], policy_set: ExperienceSet
) -> PolicyPlanItem | None:
    """Return the operation as a plan item, or None where it changes nothing."""
    current = policy_set.get(operation.name)
    before = current.text if current else None
    if operation.content == before:
        return None
    sources = [
        g
        for g in gradients
        if operation.name in (g.target_experience_name, *g.supersedes) or g.id in operation.gradients
    ]
    metadata: dict[str, JsonValue] = {"reason": operation.reason} if operation.reason else {}
    if operation.gradients:
        metadata[GRADIENTS] = list(operation.gradients)
    if operation.account:
        metadata["account"] = [row.model_dump(mode="json") for row in operation.account]
    return PolicyPlanItem(
        kind="upsert_experience" if operation.kind == "upsert" else "delete_experience",
        target_experience_name=operation.name,
        before_content=before,
        after_content=operation.content,
        base_version=current.version if current else None,
        confidence=max((g.confidence for g in sources), default=None),
        evidence_trajectory_uris=tuple(
            dict.fromkeys(uri for g in sources for uri in g.evidence_trajectory_uris)
        ),
        metadata=metadata,
    )
