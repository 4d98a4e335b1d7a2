"""What is on record: reading the evidence branch. Loads nothing of what writing it needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from xpstore import layout
from xpstore.errors import FormatError

if TYPE_CHECKING:
    from xpstore.location import Location


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
    (rollout ids), evaluations, gates or tombstones.
    """
    tree = _tree(loc)
    if tree is None:
        return []
    shards = [e.name for e in loc.repo.children(tree, kind) if e.name.startswith(prefix[:2])]
    names = [e.name for shard in shards for e in loc.repo.children(tree, f"{kind}/{shard}")]
    ids = {name.partition(".")[0] for name in names}
    return sorted(i for i in ids if i.startswith(prefix))


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
