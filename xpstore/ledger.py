"""The ledger as a whole: every rollout with its events, and what state it is in.

A rollout's state is a fold over its events; they have no order in time, so that two clones can be joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from xpstore import evidence
from xpstore.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.git import Repo
    from xpstore.location import Location

Event = dict[str, object]


KNOWN = 50_000
"""As many rollouts' events are remembered, about 60 MB: a stream asks for all of them again and again."""
_known: WeakKeyDictionary[Repo, dict[str, list[tuple[str, list[Event]]]]] = WeakKeyDictionary()  # by tree


def ledgers(loc: Location) -> Iterator[tuple[str, Sequence[Event]]]:
    """Yield every rollout id, sorted, with its events, sorted by event hash. They are shared: read only.

    Raises FormatError for a file that is no event.
    """
    known = _known.setdefault(loc.repo, {})
    tip = evidence.tip(loc)
    tree = loc.repo.commit(tip).tree if tip else ""
    for shard in loc.repo.children(tree, "ledger") if tree else ():
        rows = known.get(shard.id)
        if rows is None:
            rows = list(_rows(loc, tree, f"ledger/{shard.name}"))
            if sum(map(len, known.values())) + len(rows) > KNOWN:
                known.clear()
            if len(rows) <= KNOWN:
                known[shard.id] = rows
        yield from rows


def _rows(loc: Location, tree: str, shard: str) -> Iterator[tuple[str, list[Event]]]:
    for rollout in loc.repo.children(tree, shard):
        folder = f"{shard}/{rollout.name}"
        files = loc.repo.folder(tree, folder).files()
        yield (
            rollout.name,
            [_event(loc, f"{folder}/{name}", blob) for name, blob in sorted(files.items())],
        )


def _event(loc: Location, path: str, blob: str) -> Event:
    event = evidence.parse_json(loc.repo.blob(blob), path)
    if str(event.get("event")) not in evidence.EVENTS:
        raise FormatError(f"{path} in the evidence branch is no known event", hint="see xp verify")
    return event


def is_learned(events: Sequence[Mapping[str, object]], learner: str, landed: frozenset[str]) -> bool:
    """Say whether a learner is done with a rollout.

    It is, when one of its plans on the rollout is among the `landed` plan ids, when it has said that the
    rollout teaches nothing, or when a person has dropped it. A plan that nobody can reach any more does not
    count.
    """
    return is_closed([e for e in events if e.get("learner") == learner or e["event"] == "dropped"], landed)


def is_closed(events: Sequence[Mapping[str, object]], landed: frozenset[str]) -> bool:
    """Say whether any learner, or a person, is done with a rollout; else it is in the inbox (inbox.py)."""
    return any(
        e["event"] in {"nothing", "dropped"} or (e["event"] == "planned" and e.get("plan") in landed)
        for e in events
    )
