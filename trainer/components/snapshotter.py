"""Names for the policy that rollouts run under (RFC §16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.errors import ComponentError
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from xpstore.experience import ExperienceSet


class CommitSnapshotter:
    """The commit is the snapshot: anybody can check out what the agent had read."""

    async def snapshot(self, policy_set: ExperienceSet) -> str:
        """Return the commit id. Raises ComponentError for a set that comes from no commit."""
        if not policy_set.snapshot_id:
            raise ComponentError(
                f"the experiences of {policy_set.root_uri} come from no commit",
                hint="use ContentHashPolicySnapshotter for plain directories",
            )
        return policy_set.snapshot_id


class ContentHashPolicySnapshotter:
    """A hash of names and bytes, for policies outside git. Versions and paths do not enter it."""

    def __init__(self, prefix: str = "policy") -> None:
        self._prefix = prefix

    async def snapshot(self, policy_set: ExperienceSet) -> str:
        """Return `<prefix>:<hash>`: equal for equal experiences, whatever their order."""
        return f"{self._prefix}:{content_id(sorted((p.name, p.blob) for p in policy_set.policies))}"
