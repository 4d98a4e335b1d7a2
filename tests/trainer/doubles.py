"""Small deterministic parts for the trainer's tests: rollouts, an editor, an extractor, a handle."""

from __future__ import annotations

import asyncio
import os
import random
from typing import TYPE_CHECKING

from trainer.context import ExecutionContext, ExperienceGradientContext, LearnedHistory
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
from xpstore.errors import UsageError
from xpstore.experience import ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECRET = "ghp_" + "a1B2" * 9
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


class ScriptedExecutor:
    """An agent that does a case well when the policy has a page of the case's name; else by luck of the seed.

    What it does on some cases is how their names begin: crash, slow, late, stray, unscored, two, quit, …
    """

    def __init__(self, luck: float = 0.0, *, hangs: bool = True, tell: int | None = None) -> None:
        self._luck = luck
        self._hangs = hangs
        self._tell = tell
        self.seen: list[tuple[str, ExecutionContext]] = []
        self.running = 0
        self.most = 0
        self.cancelled: list[str] = []
        self.stuck = asyncio.Queue[str]()
        """The slow cases, as they begin to hang."""

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return [r for case in cases for r in await self._one(case, policy_set, context)]
        except asyncio.CancelledError:
            self.cancelled += [case.name for case in cases]
            raise
        finally:
            self.running -= 1

    async def _one(self, case: Case, policy_set: ExperienceSet, context: ExecutionContext) -> list[Rollout]:
        self.seen.append((case.name, context))
        await asyncio.sleep(0)
        kind = case.name.partition("-")[0]
        if kind == "crash":
            raise RuntimeError("the desk burnt down")
        if kind == "quit":
            raise asyncio.CancelledError
        is_late = kind == "late" and context.metadata["trial"] != 0
        if self._hangs and (kind == "slow" or is_late):
            self.stuck.put_nowait(case.name)
            if self._tell is not None:
                os.write(self._tell, b".")
            await asyncio.Event().wait()
        lucky = random.Random(f"{context.seed} {case.name}").random() < self._luck  # noqa: S311  # no secret
        token = f"; my token is {SECRET}" if kind == "secret" else ""
        good = lucky or policy_set.get(case.name) is not None
        done = Rollout(
            case=rollout("another").case if kind == "other" else case,
            messages=(
                Message(role="user", parts=(TextPart(text=f"please do {case.name}{token}"),)),
                Message(role="assistant", parts=(TextPart(text=f"draw {context.seed % 1000}"),)),
            ),
            policy_snapshot_id="0" * 40 if kind == "stray" else context.policy_snapshot_id,
            evaluation=None if kind == "unscored" else RubricEvaluation(passed=good, score=float(good)),
        )
        return [done, done] if kind == "two" else [done]


class ScriptedEnvironment:
    """The scripted executor as an environment that can be installed."""

    name = "scripted"
    agent = "scripted/1"
    model = ""
    simulator = ""
    version = "1"
    code = "0"

    def __init__(self, luck: float = 0.0, *, hangs: bool = True, tell: int | None = None) -> None:
        self._executor = ScriptedExecutor(luck, hangs=hangs, tell=tell)

    def executor(self) -> ScriptedExecutor:
        return self._executor


def make_environment(options: Mapping[str, object]) -> ScriptedEnvironment:
    """Make the environment; the factory of its entry point.

    In a process of its own, SCRIPTED_TELL is an open pipe that hears of every case that hangs, or `never`.
    """
    if unknown := set(options) - {"luck"}:
        raise UsageError(f"the scripted environment has no option {sorted(unknown)}", hint="luck = 0.5")
    tell = os.environ.get("SCRIPTED_TELL", "")
    luck = float(str(options.get("luck", 0.0)))
    return ScriptedEnvironment(luck, hangs=tell != "never", tell=int(tell) if tell.isdigit() else None)
