"""The evidence branch: rollouts, cases, notes, patches, plan records and the ledger, each file immutable.

A file is named by its content or by the thing that it is the only file of, so the evidence of two clones
merges as a union of trees. What a rollout's state is follows from the fold over its ledger events.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import layout, lock, maintain, objects, publish, trees, witness
from xpstore.errors import RefusedError, UsageError
from xpstore.evidence_read import find_ids, ledger, listing, parse_json, patches, read, records, size, tip
from xpstore.git import Move
from xpstore.hashing import canonical_json, content_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.location import Location
    from xpstore.objects import GitObject, Person

__all__ = [
    "EVENTS",
    "FIRST_WINS",
    "Addition",
    "EvidenceFile",
    "add",
    "case_file",
    "find_ids",
    "json_file",
    "ledger",
    "ledger_file",
    "listing",
    "parse_json",
    "patches",
    "read",
    "records",
    "rollout_file",
    "size",
    "tip",
    "trajectory_file",
    "write",
]

EVENTS = frozenset({"received", "analysed", "planned", "nothing", "dropped", "used"})
SHORT = 1 << 20
"""Bytes of evidence that are built and written under the store lock."""
FIRST_WINS = "gradients/"
"""Below it a plan that is tried again keeps the records of the first try."""


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """One file to put on record: path in the evidence branch, bytes."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Addition:
    """New evidence on top of the branch as it is now; `objects` is empty where all is there already."""

    old: str | None
    new: str | None
    objects: tuple[GitObject, ...]

    def moves(self, ref: str, reason: str) -> list[Move]:
        """Return the ref move that makes the objects visible, if any."""
        return [Move(ref, self.old, self.new, reason)] if self.objects else []


def json_file(path: str, value: object) -> EvidenceFile:
    """Return the file of a JSON value in its canonical bytes, with a final newline."""
    return EvidenceFile(path, canonical_json(value) + b"\n")


def rollout_file(rollout_id: str, data: Mapping[str, object]) -> EvidenceFile:
    """Return the file of a recording, which must be redacted already."""
    return json_file(layout.rollout_path(rollout_id), data)


def case_file(case_id: str, data: Mapping[str, object]) -> EvidenceFile:
    """Return the file of a case."""
    return json_file(layout.case_path(case_id), data)


def trajectory_file(trajectory_id: str, text: str) -> EvidenceFile:
    """Return the file of a note (Markdown; note.py writes and reads it)."""
    return EvidenceFile(layout.trajectory_path(trajectory_id), text.encode())


def ledger_file(rollout_id: str, event: Mapping[str, object]) -> EvidenceFile:
    """Return the file of a ledger event; `event["event"]` is one of EVENTS."""
    if event.get("event") not in EVENTS:
        raise UsageError(
            f"{event.get('event')!r} is no ledger event", hint=f"one of {', '.join(sorted(EVENTS))}"
        )
    return json_file(f"{layout.ledger_folder(rollout_id)}/{content_id(event)}.json", event)


def write(loc: Location, files: Sequence[EvidenceFile], message: str) -> str | None:
    """Put files on record in one commit and return its id; None where all of them are there already.

    Raises RefusedError for a path that has other bytes, or for evidence on something forgotten.
    """
    landed: list[str | None] = []

    # what is built outside of the lock, the next one makes worthless; but nobody waits for what takes long
    is_short = sum(len(file.data) for file in files) <= SHORT

    def attempt() -> bool:
        with lock.store_lock(loc.repo.common_dir) if is_short else nullcontext():
            addition = add(loc, files, message)
            moves = addition.moves(loc.evidence_ref, message)
            if moves and not publish.publish(loc.repo, addition.objects, moves):
                return False
        landed.append(addition.new if moves else None)
        if moves and addition.new:
            witness.remember(loc, addition.new)
        return True

    publish.retried(loc.repo, attempt, loc.evidence_ref)
    maintain.after_writing(loc)
    return landed[-1]


def add(loc: Location, files: Iterable[EvidenceFile], message: str, *, who: Person | None = None) -> Addition:
    """Build, without writing anything, the commit that adds files to the evidence branch as it is now.

    `who` is its author; None: the user.
    """
    old = loc.repo.ref(loc.evidence_ref)
    parent = old or tip(loc)
    tree = loc.repo.commit(parent).tree if parent else None
    new: dict[str, bytes | None] = {}
    for file in files:
        if new.setdefault(file.path, file.data) != file.data and not file.path.startswith(FIRST_WINS):
            raise _other_bytes(file.path)
    if tree:
        _check_forgotten(loc, tree, new)
    spliced = trees.splice(loc.repo.read_tree, tree, new, stays=_stays)
    if spliced.tree == tree or not new:
        return Addition(old, parent, ())
    who = who or loc.repo.person()
    parents = [parent] if parent else []
    commit = objects.make_commit(spliced.tree, parents, who, who, message.rstrip("\n") + "\n")
    return Addition(old, commit.id, (*spliced.objects, commit))


def _check_forgotten(loc: Location, tree: str, paths: Iterable[str]) -> None:
    if loc.repo.entry(tree, layout.TOMBSTONES) is None:
        return
    for path in paths:
        subject = layout.subject_of(path)
        if subject and loc.repo.entry(tree, layout.tombstone_path(subject)):
            raise RefusedError(
                f"{subject} was forgotten in this store; {path} is not taken back",
                hint="forgetting is for good: leave it out of the input",
            )


def _stays(path: str, there: str, new: str) -> bool:
    if there != new and not path.startswith(FIRST_WINS):
        raise _other_bytes(path)
    return True


def _other_bytes(path: str) -> RefusedError:
    return RefusedError(f"{path} is on record with other content", hint="evidence is never changed")
