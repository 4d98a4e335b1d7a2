"""PolicyUpdatePlan: what one commit will do, and PolicyApplyResult: what was done (RFC §5)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import JsonValue

from xpstore.experience import ExperienceSet, experience_uri
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import blob_id, content_id
from xpstore.merged_page import MergedPage, deciders
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NOTHING = blob_id(None)
"""Stands for the blob of a file that is not there."""
PolicyPlanItemKind = Literal["upsert_experience", "delete_experience"]


class PolicyPlanItem(Frozen):
    """One experience to write or delete. Texts are whole files; None = no file."""

    kind: PolicyPlanItemKind
    target_experience_name: str
    before_content: str | None
    after_content: str | None
    base_version: int | None = None
    confidence: float | None = None
    evidence_trajectory_uris: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = {}

    @property
    def target_experience_uri(self) -> str:
        """The path, relative to the store."""
        return experience_uri(self.target_experience_name)

    @cached_property
    def base_blob(self) -> str:
        """The blob that must be at the target for the item to apply; forty zeros = nothing there."""
        return blob_id(self.before_content)

    @cached_property
    def result_blob(self) -> str:
        """The blob after; forty zeros for a deletion."""
        return blob_id(self.after_content)


class RolloutRef(Frozen):
    """A rollout that a plan cites, and how it ended."""

    id: str
    passed: bool | None = None
    score: float | None = None
    case: str = ""


INTENT = ("store_id", "learner", "again", "reverts", "reverts_events")
"""The fields of a plan that its id is made from, beside the gradients (or the items)."""


def plan_id_of(intent: Mapping[str, object], gradient_ids: Sequence[str], landed: Sequence[list[str]]) -> str:
    """Return the id of a plan: hash of INTENT and the gradient ids (of the items where there are none).

    `landed` has kind, name, base and result blob of each item.
    """
    lists = {key: sorted(value) if isinstance(value := intent[key], list) else value for key in INTENT}
    what: dict[str, object] = (
        {"gradients": sorted(gradient_ids)} if gradient_ids else {"items": sorted(landed)}
    )
    return content_id({**lists, **what})


def digest_of(landed: Sequence[list[str]], rationale: str, plan_id: str) -> str:
    """Return the digest of a plan: hash of the landed items, the rationale and the plan id."""
    return content_id({"items": sorted(landed), "rationale": rationale, "plan": plan_id})


Row: TypeAlias = tuple[str, str, str, str]
"""Kind, name, base and result blob of an item."""


class PolicyUpdatePlan(Frozen):
    """One commit: its items, the gradients they came from, and why.

    `plan_id` names the intention and survives re-parenting, rebase and squash; `digest` names what
    lands and changes when a merge changed the items. Neither contains a commit id.
    """

    items: tuple[PolicyPlanItem, ...] = ()
    gradients: tuple[PatchSemanticGradient, ...] = ()
    subject: str = ""
    rationale: str = ""
    base_commit: str | None = None
    store_id: str = ""
    run_id: str = ""
    learner: str = ""
    """Who taught it: `offline/1`, a model's name, or `person` for status changes and reverts."""
    rollouts: tuple[RolloutRef, ...] = ()
    reverts: tuple[str, ...] = ()
    """Plan ids that this plan undoes."""
    reverts_events: tuple[str, ...] = ()
    """The commits that made them what they are now, so that a second undo is another intention."""
    again: int = 0
    """Counts deliberate repetitions (`--again`)."""
    resolved_by: str = ""
    """Who decided what the branch had changed too; empty where nothing overlapped."""
    merges: tuple[MergedPage, ...] = ()
    """How pages were merged that the branch had changed since the plan was made, one after the other."""
    planned: tuple[Row, ...] = ()
    """The items before a merge, or what was there already, changed them; where the id is made of them."""
    suspect: str = ""
    """Why a person should look before this lands; empty = nothing found."""
    metadata: dict[str, JsonValue] = {}

    @cached_property
    def plan_id(self) -> str:
        """Hash of store, gradients (or items where there are none), learner, reverts and `again`."""
        intent = self.model_dump(mode="json", include=set(INTENT))
        planned = [list(row) for row in self.planned]
        return plan_id_of(intent, [g.id for g in self.gradients], planned or self._landed())

    @cached_property
    def digest(self) -> str:
        """Hash of the landed items, the rationale and the plan id."""
        return digest_of(self._landed(), self.rationale, self.plan_id)

    def with_items(
        self, items: Iterable[PolicyPlanItem], merges: Iterable[MergedPage] = ()
    ) -> PolicyUpdatePlan:
        """Return the plan as it lands with other items, for these merges; the id stays, the digest not."""
        planned = self.planned or tuple((k, n, b, r) for k, n, b, r in self._landed())
        merged = tuple(merges)
        return self.model_copy(
            update={
                "items": tuple(items),
                "merges": (*self.merges, *merged),
                "resolved_by": deciders(merged, self.resolved_by),
                "planned": () if self.gradients else planned,
            }
        )

    def _landed(self) -> list[list[str]]:
        return sorted(
            [item.kind, item.target_experience_name, item.base_blob, item.result_blob] for item in self.items
        )


class PolicyApplyResult(Frozen):
    """What an updater did. With errors, nothing was written and the set is the one passed in."""

    updated_policy_set: ExperienceSet
    written_uris: tuple[str, ...] = ()
    deleted_uris: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    conflict: bool = False
    """The errors say that the policy moved meanwhile: planning again on a reloaded set may succeed."""
    commits: tuple[str, ...] = ()
    """One commit id per plan, oldest first; empty for updaters without git."""
    plans: tuple[PolicyUpdatePlan, ...] = ()
    """The independent parts of the plan, as they were applied; parallel to `commits` where there are any."""
    metadata: dict[str, JsonValue] = {}
