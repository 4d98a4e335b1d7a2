"""Plans that reached a branch without their trailers: a hosting site kept only the title of what it squashed.

They are known by their results: a commit that takes files from the bases to the results of plans on record
that no commit names is those plans. Exact blobs only, so that nothing is taken for a plan by chance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xpstore import evidence_read, gitcli
from xpstore.events import PLAN_GREP, Stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.events import Entry
    from xpstore.location import Location

_NOTHING = "0" * 40
_PLAN_ID = re.compile(rb"Plan-Id[ \t]*:[ \t]*([0-9a-f]+)")
MANY = 16
"""Records; reading more of them takes longer than asking git which plans are named."""
Effects = dict[str, tuple[str, str]]
"""Experience → blobs before and after; "" where there is no file."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a record says that a plan did."""

    stamp: Stamp
    effects: Effects


def recognised(loc: Location, entries: Sequence[Entry], *, tip: str = "") -> list[Entry]:
    """Return the entries, newest first; those that are plans without trailers have them from the record.

    `tip` is the commit whose history they were chosen from; without it, the first entry's.
    """
    nameless = [e for e in entries if not e.stamps and not e.merged and len(e.parents) < 2]
    if not nameless:
        return list(entries)
    named = {i for e in entries for i in e.plan_ids}
    known = [i for i in evidence_read.find_ids(loc, "gradients", "") if i not in named]
    if len(known) > MANY:  # a few entries of a long history: most plans are named by older commits
        older = _named_before(loc, tip or entries[0].commit)
        known = [i for i in known if i not in older]
    open_ = [r for i in known for r in recorded(loc, i)]
    if not open_:
        return list(entries)
    return [e if e not in nameless else replace(e, stamps=_stamps(e, open_)) for e in entries]


def _named_before(loc: Location, commit: str) -> set[str]:
    """Return the plan ids that the history of a commit names, of whatever store."""
    log = ("log", "-z", "--encoding=UTF-8", PLAN_GREP, "--format=%B", commit, "--")
    return {found.decode() for found in _PLAN_ID.findall(gitcli.run(loc.repo.place, log))}


def recorded(loc: Location, plan_id: str) -> list[Recorded]:
    """Return what the records of a plan say; several after merged landings."""
    return [of_record(record) for record in evidence_read.records(loc, plan_id).values()]


def of_record(record: Mapping[str, object]) -> Recorded:
    """Read a record that may be of any shape; what is not there is empty."""
    fields = {
        "Plan-Id": _words(record, "plan_id"),
        "Plan-Digest": _words(record, "digest"),
        "Store": _words(record, "store_id"),
        "Run-Id": _words(record, "run_id"),
        "Learner": _words(record, "learner"),
        "Reverts-Plan": _words(record, "reverts"),
        "Suspect": _words(record, "suspect"),
    }
    items = record.get("items")
    effects = {
        str(item.get("target_experience_name")): (
            _blob(item.get("base_blob")),
            _blob(item.get("result_blob")),
        )
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict)
    }
    stamp = Stamp(str(record.get("plan_id", "")), {key: value for key, value in fields.items() if value})
    return Recorded(stamp, effects)


def _stamps(entry: Entry, open_: Iterable[Recorded]) -> tuple[Stamp, ...]:
    """Return the plans that together make exactly this commit, last one first; none if they do not."""
    want: Effects = {}
    for change in entry.changes:
        want[change.name] = (change.before if change.old_name == change.name else "", change.after)
        if change.old_name != change.name:
            want[change.old_name] = (change.before, "")
    pool = [r for r in open_ if r.effects and r.effects.keys() <= want.keys()]
    reached = {name: after for name, (_, after) in want.items()}
    found: list[Recorded] = []
    while step := next(
        (r for r in pool if all(reached[n] == after for n, (_, after) in r.effects.items())), None
    ):
        pool = [r for r in pool if r.stamp.plan_id != step.stamp.plan_id]
        reached |= {name: before for name, (before, _) in step.effects.items()}
        found.append(step)
        if all(reached[name] == before for name, (before, _) in want.items()):
            return tuple(r.stamp for r in found)
    return ()


def _words(record: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = record.get(key)
    return tuple(str(v) for v in value) if isinstance(value, list) else (str(value),) if value else ()


def _blob(value: object) -> str:
    return "" if value == _NOTHING else str(value)
