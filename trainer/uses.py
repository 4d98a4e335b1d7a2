"""What a rollout read: as its executor says, or as its transcript shows.

An executor that gives an agent experiences names them in the rollout's metadata (`trainer.domain.READ`). An
agent that looks for them itself calls a tool `read_experience`, as `xp mcp` and OpenViking's skill have it;
hosts put a prefix before the name of a tool. Who has neither leaves open what was read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trainer.domain import READ
from xpstore.uses import used_file, valid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.domain import Rollout, ToolPart
    from xpstore.evidence import EvidenceFile

_TOOL = re.compile(r"(?:.*[^a-z0-9])?read_experience", re.IGNORECASE | re.DOTALL)
_KEYS = ("name", "uri", "names", "uris", "path")
_LONGEST = 400
"""Characters of a name or URI; longer ones are none."""


def read_in(rollout: Rollout) -> frozenset[str] | None:
    """Return the names of what a rollout read; None where it is not known."""
    named = rollout.metadata.get(READ)
    calls = [part for part in rollout.calls if _TOOL.fullmatch(part.tool_name[-_LONGEST:])]
    if not isinstance(named, list) and not calls:
        return None
    listed = named if isinstance(named, list) else []
    return frozenset(valid(listed) | valid(name for call in calls for name in _asked(call)))


def used_files(rollout: Rollout) -> list[EvidenceFile]:
    """Return what goes on record of a rollout's reading; nothing where it is not known."""
    names = read_in(rollout)
    if names is None:
        return []
    passed = rollout.evaluation.passed if rollout.evaluation else None
    served = rollout.metadata.get("policy_commit")  # of a session, whose snapshot has a name of its own
    snapshot = served if isinstance(served, str) else rollout.policy_snapshot_id
    return [used_file(rollout.id, names, snapshot, passed=passed)]


def _asked(call: ToolPart) -> Iterator[str]:
    """Yield the names that a call asks for, where it was answered."""
    if call.tool_status != "completed" or not isinstance(call.tool_input, dict):
        return
    for key in _KEYS:
        value = call.tool_input.get(key)
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and len(text) <= _LONGEST:
                yield text.rstrip("/").rpartition("/")[2].removesuffix(".md")
