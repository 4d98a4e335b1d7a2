"""A learner that never says the same twice: what was learned twice is seen, and here is how."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from tests.builders import fsck, page, texts
from tests.e2e.bad import leftovers
from trainer.domain import EditResult
from xpstore import alive, inbox
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.ledger import ledgers
from xpstore.location import Location
from xpstore.verify import verify

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

BRANCH = "train/live"


class Fickle:
    """An editor that looks at one rollout at a time, and says something else whenever it is asked."""

    learner = "fickle/1"
    scope = "rollout"

    async def edit(self, analyses, experience_set, context):
        (one,) = analyses
        name = one.rollout.case.name
        current = experience_set.get(name)
        line = f"- {one.rollout.id} {os.urandom(4).hex()}.\n"
        before = MemoryFile(name=name, content=current.text) if current else None
        after = current.text + line if current else page(name, line[2:-1])
        gradient = PatchSemanticGradient(
            before_file=before,
            after_file=MemoryFile(name=name, content=after),
            rationale="it worked",
            evidence_trajectory_uris=tuple(t.uri for t in one.trajectories),
            rollouts=(one.rollout.id,),
            confidence=0.5,
        )
        return EditResult(gradients=(gradient,))


def check(store: Path, learned: Collection[str], branch: str = BRANCH) -> None:
    """Every rollout on record stands in exactly one line, and in exactly one plan that can be reached."""
    fsck(store)
    loc = Location.find(store)
    assert inbox.entries(loc) == []
    found = Counter(line.split()[1] for text in texts(loc, branch).values() for line in lines_of(text))
    on_record = dict(ledgers(loc))
    assert set(found.values()) <= {1}
    assert found.keys() == on_record.keys()
    assert set(learned) <= found.keys()
    landed = inbox.landed(loc, branch)
    for events in on_record.values():
        assert sum(e["event"] == "planned" and e["plan"] in landed for e in events) == 1
    assert [f.problems for f in verify(loc, branch) if f.problems] == []
    assert [name for name in leftovers(store) if name.endswith(".lock")] == []
    assert list((loc.repo.common_dir / alive.FOLDER).iterdir()) == []


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ")]
