"""The evidence branch: rollouts, cases, notes, patches, plan records and the ledger, each file immutable.

A file is named by its content or by the thing that it is the only file of, so the evidence of two clones
merges as a union of trees. What a rollout's state is follows from the fold over its ledger events.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import layout, maintain, objects, publish, trees, witness
from xpstore.errors import FormatError, RefusedError, UsageError
from xpstore.git import Move
from xpstore.hashing import canonical_json, content_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.location import Location
    from xpstore.objects import GitObject

EVENTS = frozenset({"received", "analysed", "planned", "nothing", "dropped", "used"})
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


def tip(loc: Location) -> str | None:
    """Return the commit of the evidence branch, of a remote's in a new clone; None before the first one."""
    return loc.tip_of(loc.evidence_ref)


def read(loc: Location, path: str) -> bytes | None:
    """Return an evidence file; None where it is not there."""
    tree = _tree(loc)
    entry = loc.repo.entry(tree, path) if tree else None
    return loc.repo.blob(entry.id) if entry and entry.is_file else None


def size(loc: Location, path: str) -> int | None:
    """Return how many bytes an evidence file has; None where it is not there."""
    tree = _tree(loc)
    entry = loc.repo.entry(tree, path) if tree else None
    return loc.repo.size(entry.id) if entry and entry.is_file else None


def listing(loc: Location, folder: str) -> list[str]:
    """Return the paths of all files below a folder of the evidence branch, sorted; "" is all of it."""
    tree = _tree(loc)
    return sorted(path for path, _ in loc.repo.files(tree, folder)) if tree else []


def ledger(loc: Location, rollout_id: str) -> list[dict[str, object]]:
    """Return the events of a rollout, sorted by their hash: they have no order in time."""
    return [event for _, event in _json_files(loc, layout.ledger_folder(rollout_id))]


def records(loc: Location, plan_id: str) -> dict[str, dict[str, object]]:
    """Return the records of a plan by their digest; a merged landing adds a second one."""
    found = _json_files(loc, layout.plan_folder(plan_id))
    return {name.removesuffix(".json"): record for name, record in found}


def patches(loc: Location, plan_id: str) -> dict[str, bytes]:
    """Return the patch files of a plan by their names, sorted."""
    return {name: data for name, data in _folder(loc, layout.plan_folder(plan_id)) if name.endswith(".patch")}


def find_ids(loc: Location, kind: str, prefix: str) -> list[str]:
    """Return the ids that start with `prefix`, sorted.

    `kind` is a folder of the evidence branch: rollouts, cases, trajectories, gradients (plan ids), ledger
    (rollout ids), evaluations or tombstones.
    """
    tree = _tree(loc)
    if tree is None:
        return []
    shards = [e.name for e in loc.repo.children(tree, kind) if e.name.startswith(prefix[:2])]
    names = [e.name for shard in shards for e in loc.repo.children(tree, f"{kind}/{shard}")]
    ids = {name.partition(".")[0] for name in names}
    return sorted(i for i in ids if i.startswith(prefix))


def write(loc: Location, files: Sequence[EvidenceFile], message: str) -> str | None:
    """Put files on record in one commit and return its id; None where all of them are there already.

    Raises RefusedError for a path that has other bytes, or for evidence on something forgotten.
    """
    landed: list[str | None] = []

    def attempt() -> bool:
        addition = add(loc, files, message)
        moves = addition.moves(loc.evidence_ref, message)
        if moves and not publish.publish(loc.repo, addition.objects, moves):
            return False
        landed.append(addition.new if moves else None)
        if moves and addition.new:
            witness.remember(loc, addition.new)
        return True

    publish.retried(loc.repo, attempt, loc.evidence_ref)
    maintain.when_needed(loc)
    return landed[-1]


def add(loc: Location, files: Iterable[EvidenceFile], message: str) -> Addition:
    """Build, without writing anything, the commit that adds files to the evidence branch as it is now."""
    old = loc.repo.ref(loc.evidence_ref)
    parent = old or tip(loc)
    tree = loc.repo.commit(parent).tree if parent else None
    new: dict[str, bytes | None] = {}
    for file in files:
        known = new.get(file.path)
        if known is not None and known != file.data and not file.path.startswith(FIRST_WINS):
            raise _other_bytes(file.path)
        if known is None and not _on_record(loc, tree, file):
            new[file.path] = file.data
    if not new:
        return Addition(old, parent, ())
    spliced = trees.splice(loc.repo.read_tree, tree, new)
    who = loc.repo.person()
    parents = [parent] if parent else []
    commit = objects.make_commit(spliced.tree, parents, who, who, message.rstrip("\n") + "\n")
    return Addition(old, commit.id, (*spliced.objects, commit))


def _on_record(loc: Location, tree: str | None, file: EvidenceFile) -> bool:
    if tree is None:
        return False
    subject = layout.subject_of(file.path)
    if subject and loc.repo.entry(tree, layout.tombstone_path(subject)):
        raise RefusedError(
            f"{subject} was forgotten in this store; {file.path} is not taken back",
            hint="forgetting is for good: leave it out of the input",
        )
    there = loc.repo.entry(tree, file.path)
    if there is None:
        return False
    if there.id != objects.make("blob", file.data).id and not file.path.startswith(FIRST_WINS):
        raise _other_bytes(file.path)
    return True


def _other_bytes(path: str) -> RefusedError:
    return RefusedError(f"{path} is on record with other content", hint="evidence is never changed")


def _tree(loc: Location) -> str | None:
    commit = tip(loc)
    return loc.repo.commit(commit).tree if commit else None


def _folder(loc: Location, folder: str) -> list[tuple[str, bytes]]:
    tree = _tree(loc)
    entries = loc.repo.children(tree, folder) if tree else []
    return [(e.name, loc.repo.blob(e.id)) for e in sorted(entries, key=lambda e: e.name) if e.is_file]


def _json_files(loc: Location, folder: str) -> list[tuple[str, dict[str, object]]]:
    found: list[tuple[str, dict[str, object]]] = []
    for name, data in _folder(loc, folder):
        if name.endswith(".json"):
            found.append((name, parse_json(data, f"{folder}/{name}")))
    return found


def parse_json(data: bytes, where: str) -> dict[str, object]:
    """Return the object in a JSON file of the evidence branch. Raises FormatError."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"{where} in the evidence branch is no JSON: {error}", hint="see xp verify"
        ) from error
    if not isinstance(value, dict):
        raise FormatError(f"{where} in the evidence branch is no JSON object", hint="see xp verify")
    return value
