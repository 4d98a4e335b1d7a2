"""StatementMerger: merges a batch of edits without a model, statement by statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.patch_merge import MergeOperation, MergeOutcome, MergeRefusal
from xpstore.document import Document
from xpstore.merge import merge

if TYPE_CHECKING:
    from trainer.patch_merge import PatchMergeContext, PatchMergePatch


class StatementMerger:
    """PatchMerger that folds the store's own three-way merge over the patches of each target, in order."""

    async def merge(self, context: PatchMergeContext) -> MergeOutcome:
        """Return one operation per target; a true conflict refuses that target and leaves the others."""
        operations: list[MergeOperation] = []
        refused: list[MergeRefusal] = []
        for target in dict.fromkeys(p.target for p in context.patches):
            patches = [p for p in context.patches if p.target == target]
            outcome = _fold(target, context.current(target), patches)
            if isinstance(outcome, MergeRefusal):
                refused.append(outcome)
                continue
            operations.append(outcome)
            for name in dict.fromkeys(n for p in patches for n in p.supersedes):
                deletion = _supersede(name, context.current(name), outcome)
                if isinstance(deletion, MergeRefusal):
                    refused.append(deletion)
                else:
                    operations.append(deletion)
        return _once(operations, refused)


def _once(operations: list[MergeOperation], refused: list[MergeRefusal]) -> MergeOutcome:
    """Return one operation per page; a page that is both changed and replaced stays as it is."""
    kinds: dict[str, set[str]] = {}
    for operation in operations:
        kinds.setdefault(operation.name, set()).add(operation.kind)
    clashing = [name for name, found in kinds.items() if len(found) > 1]
    why = "one edit changes it, and another replaces it"
    return MergeOutcome(
        operations=tuple({op.name: op for op in operations if op.name not in clashing}.values()),
        refused=(*refused, *(MergeRefusal(name=name, reason=why) for name in clashing)),
    )


def _fold(target: str, current: str | None, patches: list[PatchMergePatch]) -> MergeOperation | MergeRefusal:
    text = current
    for patch in patches:
        before = patch.before_file.content if patch.before_file else None
        after = patch.after_file.content if patch.after_file else None
        result = merge(before, text, after, target)
        if result.verdict == "REFUSED":
            where = ", ".join(dict.fromkeys(o.section or "the beginning" for o in result.overlaps))
            return MergeRefusal(
                name=target, reason=f"the edits contradict each other in {where or 'the file'}"
            )
        text = result.text
    if text is None:
        return MergeOperation(kind="delete", name=target)
    return MergeOperation(kind="upsert", name=target, content=text)


def _supersede(name: str, old: str | None, into: MergeOperation) -> MergeOperation | MergeRefusal:
    """Delete an older page only when each of its statements stands in the new one."""
    if old is None or into.content is None:
        return MergeRefusal(name=name, reason=f"{into.name} cannot replace it: one of both does not exist")
    kept = {s.key for s in Document.parse(into.content).statements()}
    lost = [s.key for s in Document.parse(old).statements() if s.key not in kept]
    if lost:
        return MergeRefusal(name=name, reason=f"{into.name} does not say all that it says: {lost[0]}")
    return MergeOperation(kind="delete", name=name, reason=f"superseded by {into.name}")
