"""The evidence of two clones as one: every file that either has, without what either has forgotten.

Files are immutable and named by content, so there is nothing to merge. Neither history may bring back what
was forgotten: where one leads to it, the result does not have that one as a parent.

same generation, all clean       a merge of both
one generation is higher         a commit on that one, if all is clean
what is left                     a new root of a higher generation
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import evidence, gitcli, layout, objects, trees, witness
from xpstore.errors import RefusedError
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from xpstore.location import Location
    from xpstore.objects import GitObject


@dataclass(frozen=True, slots=True)
class Union:
    """The tip of the evidence of both."""

    tip: str
    objects: tuple[GitObject, ...] = ()
    doomed: frozenset[str] = frozenset()
    """The blobs of theirs that were forgotten here: they must go as soon as nothing leads to them."""


def forgotten_there(loc: Location, ours: str, theirs: str) -> list[str]:
    """Return the rollouts that the other clone has forgotten and this one still has, sorted."""
    gone = _tombstones(_files(loc, theirs))
    return sorted(
        path.split("/")[-1].removesuffix(".json")
        for path in _files(loc, ours)
        if path.startswith("rollouts/") and layout.subject_of(path) in gone
    )


def build(loc: Location, ours: str, theirs: str) -> Union:
    """Build the evidence of both. What the other clone has forgotten must be forgotten here already.

    Raises RefusedError where both have a file with different bytes.
    """
    mine, other = _files(loc, ours), _files(loc, theirs)
    gone = _tombstones(mine) | _tombstones(other)
    dropped = _dropped(loc, mine, other, gone)
    returned = _returned(loc, ours, theirs, gone) - {*mine.values(), *other.values()}
    generations = witness.generation(loc, ours), witness.generation(loc, theirs)
    if not dropped and not returned:
        if loc.repo.is_ancestor(theirs, ours):
            return Union(ours)
        # of the same generation, this clone has seen its own history: `xp verify` would miss it
        is_newer = generations[1] > generations[0] and mine.keys() <= other.keys()
        if is_newer or loc.repo.is_ancestor(ours, theirs):
            return Union(theirs)
    clash = {path for path in mine.keys() & other.keys() - {witness.GENERATION} if mine[path] != other[path]}
    for path in sorted(clash):
        if not path.startswith(evidence.FIRST_WINS):
            raise RefusedError(
                f"{path} is on record with other content in the other clone",
                hint="evidence is never changed; xp verify, here and there, says which one is sound",
            )
    if generations[0] > generations[1]:
        parents, base, added = [ours], ours, {p: b for p, b in other.items() if p not in mine}
    else:
        parents, base, added = [theirs], theirs, {p: b for p, b in mine.items() if p not in other}
        if generations[0] == generations[1]:
            parents = [theirs, ours]
    changes = {path: loc.repo.blob(blob) for path, blob in added.items() if path not in dropped}
    # what is there stays, others may have built on it: it is ours that is rewritten
    changes |= {path: loc.repo.blob(other[path]) for path in clash if base == ours}
    if ((dropped or returned) and theirs in parents) or (clash and parents != [theirs]):
        parents = []
        changes[witness.GENERATION] = witness.following(loc, ours, theirs)
    doomed = returned | {*dropped.values()}
    return _made(loc, base, parents, {**changes, **({} if base == ours else dict.fromkeys(dropped))}, doomed)


def _made(
    loc: Location, base: str, parents: list[str], changes: dict[str, bytes | None], doomed: set[str]
) -> Union:
    spliced = trees.splice(loc.repo.read_tree, loc.repo.commit(base).tree, changes)
    who = loc.repo.person()
    commit = objects.make_commit(spliced.tree, parents, who, who, "Evidence of two clones\n")
    return Union(commit.id, (*spliced.objects, commit), frozenset(doomed))


def _files(loc: Location, tip: str) -> dict[str, str]:
    return dict(loc.repo.files(loc.repo.commit(tip).tree))


def _tombstones(files: dict[str, str]) -> set[str]:
    return {path.rpartition("/")[2] for path in files if path.startswith(f"{layout.TOMBSTONES}/")}


def _returned(loc: Location, ours: str, theirs: str, gone: set[str]) -> set[str]:
    """Return the blobs of what was forgotten that the other history has on its way, though not at its end."""
    if not gone:
        return set()
    out = gitcli.run(loc.repo.place, ["rev-list", "--objects", theirs, f"^{ours}"])
    named = (line.partition(" ") for line in out.decode("utf-8", "replace").splitlines())
    return {oid for oid, _, path in named if layout.subject_of(path) in gone}


def _dropped(loc: Location, mine: dict[str, str], other: dict[str, str], gone: set[str]) -> dict[str, str]:
    """Return path → blob of the other clone's files that were forgotten here, with the cases of rollouts."""
    found = {path: blob for path, blob in other.items() if layout.subject_of(path) in gone}
    if not found:
        return {}
    cases = {path for path in other if path.startswith("cases/") and path not in mine}
    for path, blob in other.items():
        if cases and path.startswith("rollouts/") and path not in found:
            case = evidence.parse_json(loc.repo.blob(blob), path).get("case")
            cases.discard("" if case is None else layout.case_path(content_id(case)))
    return found | {path: other[path] for path in cases}
