"""The items of a plan whose pages the branch has changed meanwhile. Pure.

`by_rule` merges where nothing overlaps, which takes no time and no decision, so it may run under a lock.
What overlaps is a conflict, and goes to whoever can decide: `by_decision`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.hashing import blob_id
from xpstore.merge import merge
from xpstore.merged_page import MergedPage

if TYPE_CHECKING:
    from xpstore.errors import Conflict
    from xpstore.merge import MergePage, MergeResult
    from xpstore.plan import PolicyPlanItem


@dataclass(frozen=True, slots=True)
class MergedItem:
    """An item as it applies to what the branch has now, and how it came to be so."""

    item: PolicyPlanItem
    page: MergedPage

    @property
    def is_there(self) -> bool:
        """Whether the branch has all of it already."""
        return self.item.base_blob == self.item.result_blob


def by_rule(item: PolicyPlanItem, ours: str | None) -> MergedItem | None:
    """Merge an item with the text that the branch has; None where both changed the same."""
    result = merge(item.before_content, ours, item.after_content, item.target_experience_uri)
    if result.verdict == "REFUSED" or result.overlaps:
        return None
    return _merged(item, ours, result)


def by_decision(item: PolicyPlanItem, conflict: Conflict, merge_page: MergePage) -> MergedItem | None:
    """Have what overlaps decided; None where that is refused. It may call a model: never under a lock."""
    result = merge_page(conflict.base, conflict.ours, conflict.theirs, item.target_experience_uri)
    return None if result.verdict == "REFUSED" else _merged(item, conflict.ours, result)


def _merged(item: PolicyPlanItem, ours: str | None, result: MergeResult) -> MergedItem:
    blobs = (item.base_blob, blob_id(ours), item.result_blob)
    made = item.model_copy(
        update={
            "kind": "delete_experience" if result.text is None else "upsert_experience",
            "before_content": ours,
            "after_content": result.text,
        }
    )
    page = MergedPage.of(item.target_experience_name, blobs, result, item.after_content)
    return MergedItem(made, page)
