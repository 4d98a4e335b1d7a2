"""The updaters: the only components that change the policy (RFC §6.7)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.components.memory_store import BranchPolicy, DirectoryPolicy, MemoryPolicy, load_directory
from trainer.journal import GitJournal, NoJournal
from trainer.plan_parts import independent_parts
from xpstore.applying import OFFLINE
from xpstore.applying import apply as apply_plans
from xpstore.errors import ConflictError, XpError
from xpstore.evidence import listing
from xpstore.experience import Experience, ExperienceSet
from xpstore.guards import check_items
from xpstore.kept import keep_all
from xpstore.names import check_name, fold
from xpstore.plan import PolicyApplyResult
from xpstore.settings import Limits
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from trainer.context import ApplyContext
    from trainer.store_door import StoreDoor
    from xpstore.commit import Landed
    from xpstore.location import Location
    from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan
    from xpstore.resolver import Resolver

DEFAULT = Limits()


class DryRunPolicyUpdater:
    """Applies a plan in memory only. `limits` are those of the store that it stands for."""

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits

    async def apply(
        self, plan: PolicyUpdatePlan, policy_set: ExperienceSet, context: ApplyContext
    ) -> PolicyApplyResult:
        """Return the set as it would be; guards say no as they would on disk."""
        del context  # nothing is written, so nowhere to write it to
        parts = _checked(plan, self._limits)
        if errors := _guard(plan, policy_set):
            return PolicyApplyResult(updated_policy_set=policy_set, errors=errors, conflict=True)
        return PolicyApplyResult(
            updated_policy_set=_applied(plan, policy_set),
            written_uris=_uris([plan], "upsert_experience"),
            deleted_uris=_uris([plan], "delete_experience"),
            plans=parts,
            metadata={"dry_run": True},
        )

    async def keep(self, plan: PolicyUpdatePlan, context: ApplyContext) -> tuple[str, ...]:
        """Keep nothing: there are no branches."""
        del plan, context
        return ()

    def policy(self, policy_set: ExperienceSet, context: ApplyContext) -> MemoryPolicy:
        """Return the set itself: there is nothing else."""
        del context
        return MemoryPolicy(policy_set)

    def journal(self, context: ApplyContext) -> NoJournal:
        """Return the journal that keeps nothing."""
        del context
        return NoJournal()


class GitPolicyUpdater:
    """One commit per independent part of the plan, landed as a group on `context.branch`.

    Pages that the branch has changed meanwhile are merged; `resolver` decides what overlaps, under no lock.
    On the branch that agents read, a suspect part is not applied but kept: it does not land by itself.
    """

    def __init__(self, door: StoreDoor, resolver: Resolver = OFFLINE) -> None:
        self._door = door
        self._resolver = resolver

    async def apply(
        self, plan: PolicyUpdatePlan, policy_set: ExperienceSet, context: ApplyContext
    ) -> PolicyApplyResult:
        """Return the commits. A conflict is in `errors`; a broken repository raises RepositoryError.

        `metadata` names what waits for a person: `kept` has the page of each branch, `refused` why.
        """
        if not plan.items:
            return PolicyApplyResult(updated_policy_set=policy_set)

        def write(location: Location) -> PolicyApplyResult:
            stamped = plan.model_copy(update={"store_id": location.config.id})
            parts = independent_parts(stamped)
            if context.again:
                parts = [_repeated(location, part) for part in parts]
            is_main = location.branch_ref(context.branch) == location.main_ref
            held = [part for part in parts if is_main and part.suspect]
            parts = [part for part in parts if part not in held]
            landed = self._written(location, parts, context) if parts else []
            return PolicyApplyResult(
                updated_policy_set=snapshot(location, context.branch),
                written_uris=_uris(parts, "upsert_experience"),
                deleted_uris=_uris(parts, "delete_experience"),
                commits=tuple(one.commit for one in landed),
                plans=tuple(parts),
                metadata=_waiting(held, keep_all(location, held)),
            )

        try:
            return await self._door.call(write)
        except ConflictError as error:
            return PolicyApplyResult(updated_policy_set=policy_set, errors=(error.message,), conflict=True)

    def _written(
        self, location: Location, parts: Sequence[PolicyUpdatePlan], context: ApplyContext
    ) -> list[Landed]:
        return apply_plans(
            location,
            parts,
            context.branch,
            start=context.start,
            resolver=self._resolver,
            plans_again=True,
        )

    async def keep(self, plan: PolicyUpdatePlan, context: ApplyContext) -> tuple[str, ...]:
        """Put each independent part of the plan on a branch of its own, for `xp resolve`."""
        del context

        def write(location: Location) -> tuple[str, ...]:
            parts = independent_parts(plan.model_copy(update={"store_id": location.config.id}))
            return keep_all(location, parts)

        return await self._door.call(write)

    def policy(self, policy_set: ExperienceSet, context: ApplyContext) -> BranchPolicy:
        """Return the branch."""
        del policy_set  # the branch itself says how it is
        return BranchPolicy(self._door, context.branch, context.start)

    def journal(self, context: ApplyContext) -> GitJournal:
        """Return the evidence branch of the store."""
        return GitJournal(self._door, context.branch)


class MemoryFilePolicyUpdater:
    """A plain directory of Markdown files without git: the same guards, all or nothing, no history."""

    def __init__(self, root: Path, limits: Limits = DEFAULT) -> None:
        self._root = root
        self._limits = limits

    async def apply(
        self, plan: PolicyUpdatePlan, policy_set: ExperienceSet, context: ApplyContext
    ) -> PolicyApplyResult:
        """Return what was written. Raises XpError, the directory unchanged, when it cannot write."""
        del context  # a directory has no branches
        parts = _checked(plan, self._limits)
        current = load_directory(self._root)
        if errors := _guard(plan, current):
            return PolicyApplyResult(updated_policy_set=policy_set, errors=errors, conflict=True)
        try:
            _write_all(self._root, plan.items)
        except OSError as error:
            raise XpError(
                f"cannot write {self._root}: {error.strerror or error}", hint="nothing was changed"
            ) from error
        return PolicyApplyResult(
            updated_policy_set=load_directory(self._root),
            written_uris=_uris([plan], "upsert_experience"),
            deleted_uris=_uris([plan], "delete_experience"),
            plans=parts,
        )

    async def keep(self, plan: PolicyUpdatePlan, context: ApplyContext) -> tuple[str, ...]:
        """Keep nothing: there are no branches."""
        del plan, context
        return ()

    def policy(self, policy_set: ExperienceSet, context: ApplyContext) -> DirectoryPolicy:
        """Return the directory."""
        del policy_set, context
        return DirectoryPolicy(self._root)

    def journal(self, context: ApplyContext) -> NoJournal:
        """Return the journal that keeps nothing: a directory has no evidence branch."""
        del context
        return NoJournal()


def _checked(plan: PolicyUpdatePlan, limits: Limits) -> tuple[PolicyUpdatePlan, ...]:
    """Return the independent parts of the plan. Raises what the guards say of each."""
    parts = tuple(independent_parts(plan))
    for part in parts:
        check_items(part.items, limits)
    return parts


def _waiting(held: Sequence[PolicyUpdatePlan], branches: Sequence[str]) -> dict[str, JsonValue]:
    """Return which pages wait on which branches, and why."""
    if not held:
        return {}
    names = [part.items[0].target_experience_name for part in held]
    why: dict[str, JsonValue] = {
        name: f"it is suspect: {part.suspect}" for name, part in zip(names, held, strict=True)
    }
    kept: dict[str, JsonValue] = dict(zip(branches, names, strict=False))
    return {"refused": why, "kept": kept}


def _repeated(location: Location, plan: PolicyUpdatePlan) -> PolicyUpdatePlan:
    """Return the plan under the first `again` number whose id was never recorded."""
    while listing(location, f"gradients/{plan.plan_id[:2]}/{plan.plan_id}"):
        plan = plan.model_copy(update={"again": plan.again + 1})
    return plan


def _guard(plan: PolicyUpdatePlan, current: ExperienceSet) -> tuple[str, ...]:
    """Return why the plan may not be applied to this set: other bases, twins, two for one."""
    errors: list[str] = []
    names = {fold(p.name): p.name for p in current.policies}
    seen: set[str] = set()
    for item in plan.items:
        name = check_name(item.target_experience_name)
        here = current.get(name)
        if fold(name) in seen:
            errors.append(f"{item.target_experience_uri}: two items for one target")
        elif here is None and fold(name) in names:
            errors.append(f"{item.target_experience_uri}: {names[fold(name)]} is there already")
        elif (here.text if here else None) != item.before_content:
            errors.append(f"{item.target_experience_uri}: the base has changed since the plan was made")
        seen.add(fold(name))
    return tuple(errors)


def _applied(plan: PolicyUpdatePlan, policy_set: ExperienceSet) -> ExperienceSet:
    pages = dict(policy_set.by_name)
    for item in plan.items:
        if item.after_content is None:
            pages.pop(item.target_experience_name, None)
        else:
            pages[item.target_experience_name] = Experience(
                name=item.target_experience_name, text=item.after_content
            )
    ordered = tuple(pages[name] for name in sorted(pages))
    return policy_set.model_copy(update={"policies": ordered, "snapshot_id": ""})


def _uris(plans: Sequence[PolicyUpdatePlan], kind: str) -> tuple[str, ...]:
    return tuple(i.target_experience_uri for plan in plans for i in plan.items if i.kind == kind)


def _write_all(root: Path, items: tuple[PolicyPlanItem, ...]) -> None:
    """Write every new text beside its target first, then rename; put the old bytes back if a rename fails."""
    root.mkdir(parents=True, exist_ok=True)
    staged: list[tuple[Path, Path | None]] = []
    undo: list[tuple[Path, bytes | None]] = []
    try:
        for item in items:
            target = root / f"{item.target_experience_name}.md"
            staged.append((target, _stage(root, item.after_content)))
        for target, new in staged:
            undo.append((target, target.read_bytes() if target.exists() else None))
            if new is None:
                target.unlink()
            else:
                new.replace(target)
    except OSError:
        for target, old in reversed(undo):
            if old is None:
                target.unlink(missing_ok=True)
            else:
                target.write_bytes(old)
        raise
    finally:
        for _, new in staged:
            if new is not None:
                new.unlink(missing_ok=True)


def _stage(root: Path, text: str | None) -> Path | None:
    if text is None:
        return None
    handle, path = tempfile.mkstemp(prefix=".xp-", dir=root)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    return Path(path)
