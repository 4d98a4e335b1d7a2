"""ExperienceGradientEstimator: lets a strategy propose edits and checks what it proposes (RFC §6.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import EditResult
from trainer.errors import ComponentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.context import ExperienceGradientContext
    from trainer.domain import RolloutAnalysis
    from trainer.interfaces import ExperienceEditor, GroupScope
    from xpstore.experience import ExperienceSet
    from xpstore.gradient import PatchSemanticGradient


class ExperienceGradientEstimator:
    """Trajectories → patch gradients. Writes nothing."""

    def __init__(self, editor: ExperienceEditor) -> None:
        self._editor = editor

    @property
    def learner(self) -> str:
        """Who proposes: the editor's name and version."""
        return self._editor.learner

    @property
    def scope(self) -> GroupScope:
        """What one call wants to see."""
        return self._editor.scope

    async def estimate(
        self,
        analyses: Sequence[RolloutAnalysis],
        experience_set: ExperienceSet,
        context: ExperienceGradientContext,
    ) -> EditResult:
        """Return edits against `experience_set`. Raises ComponentError on an edit of anything else."""
        result = await self._editor.edit(analyses, experience_set, context)
        known = {a.rollout.id for a in analyses}
        gradients = tuple(_checked(g, experience_set, known) for g in result.gradients)
        return EditResult(gradients=gradients, nothing=result.nothing, report=result.report)


def _checked(
    gradient: PatchSemanticGradient, experience_set: ExperienceSet, known: set[str]
) -> PatchSemanticGradient:
    """Provenance is stamped here, outside what a strategy writes: base commit, version, real rollouts."""
    current = experience_set.get(gradient.target_experience_name)
    before = gradient.before_file.content if gradient.before_file else None
    if before != (current.text if current else None):
        raise ComponentError(f"the edit of {gradient.target_experience_uri} starts from other text")
    if strangers := sorted(set(gradient.rollouts) - known):
        raise ComponentError(
            f"the edit of {gradient.target_experience_uri} cites unknown rollouts {strangers}"
        )
    return gradient.model_copy(
        update={
            "base_commit": experience_set.snapshot_id or None,
            "base_version": current.version if current else None,
        }
    )
