"""Stores of any size, and plans that keep changing them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.builders import git, identify
from xpstore import objects, publish, trees
from xpstore.experience import MemoryFile
from xpstore.git import Move
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import content_id
from xpstore.init import init
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan, RolloutRef

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

WORDS = "agent check refund order before ask user policy tool result cabin cancel flight confirm reason"
WHY = "Seen in 5 rollouts, 3 failed."
CHANGED = 4
"""Experiences per plan."""


class World:
    """A store with `size` experiences of 2 KB, an evidence branch of `past` plans, and the next plans."""

    def __init__(self, path: Path, size: int, past: int) -> None:
        self._random = random.Random(1)  # noqa: S311 - no secret
        self.names = [f"lesson-{number:05}" for number in range(size)]
        self.texts = {name: self._page(name) for name in self.names}
        self.loc = init(path)
        identify(path)
        # what is measured is the store, not the files that git writes when the branch is checked out
        git(path, "symbolic-ref", "HEAD", "refs/heads/elsewhere")
        put(self.loc, self.loc.main_ref, {f"experiences/{n}.md": t.encode() for n, t in self.texts.items()})
        if past:
            put(self.loc, self.loc.evidence_ref, self._evidence(past))
        self._count = 0

    def plan(self) -> PolicyUpdatePlan:
        """Return a plan on the tip of main that changes CHANGED experiences by a line each."""
        return self.plans(1)[0]

    def plans(self, count: int) -> list[PolicyUpdatePlan]:
        """Return plans of one group: each starts where the one before it ends."""
        tip = self.loc.repo.ref(self.loc.main_ref)
        return [self._next(tip) for _ in range(count)]

    def _next(self, tip: str | None) -> PolicyUpdatePlan:
        self._count += 1
        rollout = content_id(f"rollout {self._count}")
        gradients = []
        for name in self._random.sample(self.names, CHANGED):
            before = self.texts[name]
            lines = before.split("\n")
            at = self._random.choice([n for n, line in enumerate(lines) if line.startswith("- ")])
            lines[at] = f"- {self._sentence()} {self._count}."  # pages stay as long as they are
            self.texts[name] = "\n".join(lines)
            gradients.append(
                PatchSemanticGradient(
                    before_file=MemoryFile(name=name, content=before),
                    after_file=MemoryFile(name=name, content=self.texts[name]),
                    base_commit=tip,
                    rationale=WHY,
                    rollouts=(rollout,),
                    confidence=0.8,
                )
            )
        return PolicyUpdatePlan(
            items=tuple(_item(gradient) for gradient in gradients),
            gradients=tuple(gradients),
            subject=f"Teach lesson {self._count}",
            rationale=WHY,
            base_commit=tip,
            store_id=self.loc.config.id,
            run_id="run-1",
            learner="offline/1",
            rollouts=(RolloutRef(id=rollout, passed=True),),
        )

    def _page(self, name: str) -> str:
        parts = [f"---\nname: {name}\ndescription: When {name} is asked for.\nstatus: production\n---\n"]
        for section in ("Situation", "Approach", "Reflect"):
            parts.append(f"\n## {section}\n\n")
            parts += [f"- {self._sentence()}.\n" for _ in range(9)]
        return "".join(parts)

    def _sentence(self) -> str:
        return " ".join(self._random.choices(WORDS.split(), k=10)).capitalize()

    def _evidence(self, plans: int) -> dict[str, bytes]:
        files = {}
        for _ in range(plans):
            plan, rollout = (f"{self._random.getrandbits(80):020x}" for _ in range(2))
            folder = f"gradients/{plan[:2]}/{plan}"
            for number in range(CHANGED):
                text = f"{plan} {number} {self._random.getrandbits(8000):x}"  # as long as a patch when packed
                files[f"{folder}/{number + 1:02}-{self._random.choice(self.names)}.patch"] = text.encode()
            files[f"{folder}/{rollout}.json"] = plan.encode() * 20
            files[f"ledger/{rollout[:2]}/{rollout}/{plan}.json"] = plan.encode() * 5
        return files


def _item(gradient: PatchSemanticGradient) -> PolicyPlanItem:
    before, after = gradient.before_file, gradient.after_file
    return PolicyPlanItem(
        kind="upsert_experience",
        target_experience_name=gradient.target_experience_name,
        before_content=before.content if before else None,
        after_content=after.content if after else None,
        confidence=gradient.confidence,
    )


def put(loc: Location, ref: str, files: dict[str, bytes]) -> None:
    """Commit files as they are, past every rule of the store."""
    old = loc.repo.ref(ref)
    spliced = trees.splice(loc.repo.read_tree, loc.repo.commit(old).tree if old else None, files)
    who = loc.repo.person()
    made = objects.make_commit(spliced.tree, [old] if old else [], who, who, "Fill the store\n")
    assert publish.publish(loc.repo, [*spliced.objects, made], [Move(ref, old, made.id, "fill")])
