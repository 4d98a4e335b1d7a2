"""Small deterministic parts for the trainer's tests: rollouts, an editor, an extractor, a handle."""

from __future__ import annotations

from trainer.context import ExperienceGradientContext, LearnedHistory
from trainer.domain import (
    Case,
    EditResult,
    Message,
    Rollout,
    RolloutAnalysis,
    Rubric,
    RubricEvaluation,
    TextPart,
)
from xpstore.experience import ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.trajectory import Trajectory

PAGE = """---
name: {name}
description: When {name} is asked for
status: production
---

## Approach

- {lesson}
"""


def rollout(case: str = "refund", trial: int = 0, *, passed: bool | None = True) -> Rollout:
    score = None if passed is None else float(passed)
    return Rollout(
        case=Case(name=case, rubric=Rubric(name=f"{case}-rubric")),
        messages=(Message(role="user", parts=(TextPart(text=f"please do {case}"),)),),
        evaluation=None if score is None else RubricEvaluation(passed=bool(passed), score=score),
        metadata={"trial": trial},
    )


def page(name: str, lesson: str) -> str:
    return PAGE.format(name=name, lesson=lesson)


class NoteTaker:
    """An extractor that notes the user's words; a case named `empty` has nothing to note, `broken` raises."""

    async def extract(self, rollout: Rollout, evaluation: RubricEvaluation | None) -> list[Trajectory]:
        if rollout.case.name == "broken":
            raise ValueError("cannot read this one")
        if rollout.case.name == "empty":
            return []
        outcome = "unknown" if evaluation is None else "success" if evaluation.passed else "failure"
        return [
            Trajectory(
                name=rollout.case.name,
                content=rollout.messages[0].text,
                outcome=outcome,
                retrieval_anchor=rollout.case.name,
                rollout=rollout.id,
            )
        ]


class CaseEditor:
    """An editor that writes one page per case: `always <case>`; it refuses to learn from `bad`."""

    learner = "double/1"

    def __init__(self, scope: str = "batch") -> None:
        self.scope = scope
        self.groups: list[list[str]] = []

    async def edit(
        self,
        analyses: list[RolloutAnalysis],
        experience_set: ExperienceSet,
        context: ExperienceGradientContext,
    ) -> EditResult:
        self.groups.append([a.rollout.id for a in analyses])
        if any(a.rollout.case.name == "bad" for a in analyses):
            raise RuntimeError("cannot learn from this group")
        gradients = []
        for case in sorted({a.rollout.case.name for a in analyses} - {"silent"}):
            mine = [a for a in analyses if a.rollout.case.name == case]
            current = experience_set.get(case)
            after = page(case, f"Always {case}.")
            if current and current.text == after:
                continue
            gradients.append(
                PatchSemanticGradient(
                    before_file=MemoryFile(name=case, content=current.text) if current else None,
                    after_file=MemoryFile(name=case, content=after),
                    rationale=f"{case} worked",
                    evidence_trajectory_uris=tuple(t.uri for a in mine for t in a.trajectories),
                    rollouts=tuple(a.rollout.id for a in mine),
                    confidence=0.5,
                )
            )
        silent = {a.rollout.id: "said nothing" for a in analyses if a.rollout.case.name == "silent"}
        return EditResult(gradients=tuple(gradients), nothing=silent, report={"groups": len(self.groups)})


class FixedPolicy:
    """A PolicyHandle whose set can be changed from outside."""

    def __init__(self, current: ExperienceSet | None = None) -> None:
        self.current = current or ExperienceSet(root_uri="experiences")
        self.reloads = 0

    async def reload(self) -> ExperienceSet:
        self.reloads += 1
        return self.current

    async def learned(self, learner: str) -> LearnedHistory:
        del learner
        return LearnedHistory()
