"""Notes are a view of the evaluations on record: a line that claims to be one must be one.

A decision is never made from a note; but people read them in `git log --notes=xp-eval`. Other lines are
people's own.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from hooks import changes
from hooks.remark import Remark
from xpstore import evaluation, layout
from xpstore.errors import XpError
from xpstore.location import stores_at
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.changes import Change
    from xpstore.location import Location

_SHOWN = 5
_CLAIMS = frozenset({"key", "summary", "passed", "score"})
"""What a line says that is read as one of an evaluation."""
_ID = re.compile("[0-9a-f]{12,64}")


def check(loc: Location, old: str | None, new: str, evidence: str | None) -> list[Remark]:
    """Return the lines that a push adds to the notes and that no evaluation on record is behind.

    `evidence` is the tip of the evidence after the push. Raises RepositoryError where something cannot be
    read.
    """
    start = loc.repo.commit(old).tree if old else EMPTY_TREE
    found = changes.between(loc.repo, start, loc.repo.commit(new).tree)
    return [remark for change in found for remark in _note(loc, change, evidence)][:_SHOWN]


def _note(loc: Location, change: Change, evidence: str | None) -> Iterator[Remark]:
    commit = change.path.replace("/", "")
    was, now = change.before, change.after
    if now is None or not now.is_file:
        return
    known = set(loc.repo.blob(was.id).split(b"\n")) if was and was.is_file else set()
    for line in loc.repo.blob(now.id).split(b"\n"):
        key = _key(line) if line not in known else None
        if key is not None and line.decode("utf-8", "replace") not in _lines(loc, evidence, key, commit):
            yield Remark(
                f"the note on {commit[:12]} tells of an evaluation that is not on record ({key[:12]})",
                "xp sync pushes evidence and notes together; xp eval writes both",
            )


def _key(line: bytes) -> str | None:
    """Return the key of the evaluation that a line claims to be of; None where it claims nothing."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not _CLAIMS & value.keys():
        return None
    key = value.get("key", value.get("summary"))
    return key if isinstance(key, str) else ""


def _lines(loc: Location, evidence: str | None, key: str, commit: str) -> set[str]:
    """Return what may stand in the note on a commit about the evaluations of a key."""
    if evidence is None or not _ID.fullmatch(key):
        return set()
    trees = _experiences(loc, commit)
    tree = loc.repo.commit(evidence).tree
    folder = layout.evaluation_path(key, "").rpartition("/")[0]
    lines = set()
    for entry in loc.repo.children(tree, folder):
        if entry.is_file and entry.name.startswith(f"{key}."):
            try:
                record = evaluation.read_record(loc.repo.blob(entry.id), f"{folder}/{entry.name}")
            except XpError:  # evidence of another version: no line can be told from it
                continue
            if trees is None or record.key.experiences in trees:
                lines.add(evaluation.note_line(record))
    return lines


def _experiences(loc: Location, commit: str) -> set[str] | None:
    """Return the experiences of a commit; None where it is not here: candidates need not be pushed."""
    if not loc.repo.has(commit):
        return None
    found, _ = stores_at(loc.repo, loc.repo.commit(commit).tree)
    return {evaluation.experiences_at(each, commit) for each in found if each.config.name == loc.config.name}
