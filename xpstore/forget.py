"""Forget a rollout: take what somebody said out of the repository, objects, reflogs and packs included.

The evidence branch begins anew from one root commit without the rollout, its notes, its ledger and (if no
other rollout has it) its case. A tombstone says that it was here, and a generation number that this rewrite
was meant. Lessons stay where they are: they are listed, and undoing them is a decision of its own.

What is left to purge is noted beside the refs, so that a run that was interrupted is finished by the next.
Copies elsewhere (remotes, other clones, backups) are out of reach; the remotes that had one are named.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import (
    derived,
    evidence,
    gitcli,
    layout,
    lock,
    maintain,
    objects,
    publish,
    purge,
    review,
    tracking,
    trees,
    witness,
)
from xpstore.errors import NotFoundError, RefusedError, RepositoryError, UsageError
from xpstore.git import Move
from xpstore.hashing import canonical_json, content_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from xpstore.location import Location
    from xpstore.objects import GitObject


REASON = "xp: forget"
LEAST_DIGITS = 6
"""Of a rollout's id: a slip of the finger must not name another rollout, for what is forgotten is gone."""


@dataclass(frozen=True, slots=True)
class CitingLesson:
    """A lesson that rests on a forgotten rollout, perhaps among others. It is still there."""

    plan_id: str
    experience: str
    statement: str
    """Markdown as it was added; "" where the plan added none."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was, or in a dry run would be, forgotten."""

    rollouts: tuple[str, ...]
    lessons: tuple[CitingLesson, ...]
    removed: tuple[str, ...]
    """Paths that left the evidence branch, sorted."""
    remotes: tuple[str, ...]
    """Remote-tracking branches that had it: their remotes still do."""


def named(loc: Location, text: str) -> list[str]:
    """Return the rollouts that a text names: the one whose id begins so, or all of a session.

    A session is named by its id or its URI. Raises NotFoundError where there is none, or several things.
    """
    sessions = _sessions(loc, text)
    if not sessions:
        return [_find(loc, text)]
    if len(sessions) > 1:
        raise NotFoundError(
            f"'{text}' names {len(sessions)} sessions", hint=f"name one: {', '.join(sessions)}"
        )
    (of_session,) = sessions.values()
    if evidence.find_ids(loc, "rollouts", text):
        raise NotFoundError(
            f"'{text}' names a session, and begins the id of a rollout",
            hint=f"name the session as {next(iter(sessions))}",
        )
    return sorted(of_session)


def forget_all(loc: Location, rollouts: Sequence[str], *, dry_run: bool = False) -> Forgotten:
    """Forget rollouts one after the other, as `forget`; what was forgotten before an error stays so."""
    done = [forget(loc, rollout, dry_run=dry_run) for rollout in rollouts]
    return Forgotten(
        tuple(i for one in done for i in one.rollouts),
        tuple(dict.fromkeys(lesson for one in done for lesson in one.lessons)),
        tuple(sorted({path for one in done for path in one.removed})),
        tuple(sorted({remote for one in done for remote in one.remotes})),
    )


def forget(loc: Location, rollout: str, *, dry_run: bool = False) -> Forgotten:
    """Forget a rollout by its id or the first digits of it.

    Raises UsageError for fewer than LEAST_DIGITS, NotFoundError where there is none or more than one,
    RefusedError where another branch, tag or working tree holds the evidence; then nothing has changed.
    """
    # nobody folds packs meanwhile: that would bring back what is taken out of them
    with maintain.alone(loc.repo, wait=True), lock.store_lock(loc.repo.common_dir):
        if not dry_run:
            _finish(loc)
        rollout_id = _find(loc, rollout)
        gone = _paths(loc, rollout_id)
        remotes = _remotes(loc)
        result = Forgotten(
            (rollout_id,), tuple(_lessons(loc, rollout_id)), tuple(sorted(gone)), tuple(remotes)
        )
        if not dry_run:
            _check_holders(loc, remotes)
            _rewrite(loc, rollout_id, gone, remotes)
            _finish(loc)
    return result


def _find(loc: Location, rollout: str) -> str:
    if len(rollout) < LEAST_DIGITS:
        raise UsageError(
            f"'{rollout}' is too short to name a rollout that shall be forgotten",
            hint=f"give at least {LEAST_DIGITS} digits of its id; xp show lists the rollouts of a plan",
        )
    found = sorted({*evidence.find_ids(loc, "rollouts", rollout), *evidence.find_ids(loc, "ledger", rollout)})
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFoundError(
            f"'{rollout}' is short for {len(found)} rollouts: {', '.join(found[:4])}", hint="give more digits"
        )
    if evidence.find_ids(loc, "tombstones", rollout):
        raise NotFoundError(f"rollout {rollout} was forgotten already")
    raise NotFoundError(f"there is no rollout '{rollout}'", hint="xp show lists the rollouts of a plan")


def _sessions(loc: Location, text: str) -> dict[str, list[str]]:
    """Return the sessions of this id or URI, by URI, each with the rollouts that a service made of it.

    A recording says it itself: `metadata` has `session`, and `archive_uri` below the session's URI.
    """
    found: dict[str, list[str]] = {}
    mark = canonical_json(text).strip(b'"')
    for path, data in _files(loc, "rollouts"):
        if mark not in data:
            continue
        told = evidence.parse_json(data, path).get("metadata")
        if isinstance(told, dict) and isinstance(told.get("session"), str):
            uri = str(told.get("archive_uri", "")).partition("/history/")[0] or told["session"]
            if text in {told["session"], uri}:
                found.setdefault(uri, []).append(layout.subject_of(path))
    return found


def _paths(loc: Location, rollout_id: str) -> set[str]:
    """Return every evidence file that is of this rollout alone, and every note that names it."""
    path = layout.rollout_path(rollout_id)
    gone = {path, *evidence.listing(loc, layout.ledger_folder(rollout_id))}
    gone |= {p for p, data in _files(loc, "trajectories") if rollout_id.encode() in data}
    data = evidence.read(loc, path)
    case = evidence.parse_json(data, path).get("case") if data else None
    if case is not None:
        shared = b'"case":' + canonical_json(case)
        if not any(shared in other for p, other in _files(loc, "rollouts") if p != path):
            gone.add(layout.case_path(content_id(case)))
    return gone & set(evidence.listing(loc, ""))


def _files(loc: Location, folder: str) -> Iterator[tuple[str, bytes]]:
    tip = evidence.tip(loc)
    for path, blob in loc.repo.files(loc.repo.commit(tip).tree, folder) if tip else ():
        yield path, loc.repo.blob(blob)


def _lessons(loc: Location, rollout_id: str) -> list[CitingLesson]:
    events = evidence.ledger(loc, rollout_id)
    plans = sorted({str(e["plan"]) for e in events if e.get("event") == "planned" and e.get("plan")})
    found = []
    for plan_id in plans:
        citing = [g for g in review.lessons(loc, plan_id) if rollout_id in {r.id for r in g.rollouts}]
        for lesson in citing:
            found += [CitingLesson(plan_id, lesson.experience, text) for text in lesson.added or ("",)]
        if not citing:
            found.append(CitingLesson(plan_id, "", ""))
    return found


def _remotes(loc: Location) -> list[str]:
    """Return the remote-tracking branches, also those that are left of a remote that has no other trace."""
    branch = loc.evidence_ref.removeprefix(layout.HEADS)
    left = [ref for ref in loc.repo.refs(layout.REMOTES) if ref.split("/", 3)[-1] == branch]
    return sorted({*left, *tracking.copies(loc.repo, loc.evidence_ref)})


def _check_holders(loc: Location, remotes: Iterable[str]) -> None:
    """Refuse where anything else than the evidence branch keeps its commits."""
    tip = evidence.tip(loc)
    roots = gitcli.run(loc.repo.place, ["rev-list", "--max-parents=0", tip or ""]).decode().split()
    contains = [word for root in roots for word in ("--contains", root)]
    out = gitcli.run(loc.repo.place, ["for-each-ref", "--format=%(refname)", *contains])
    holders = [ref for ref in out.decode().splitlines() if ref not in {loc.evidence_ref, *remotes}]
    trees_ = gitcli.run(loc.repo.place, ["worktree", "list", "--porcelain", "-z"])
    for block in trees_.decode("utf-8", "surrogateescape").split("\0\0"):
        lines = block.split("\0")
        heads = [line.removeprefix("HEAD ") for line in lines if line.startswith("HEAD ")]
        if "detached" in lines and any(loc.repo.is_ancestor(r, h) for r in roots for h in heads):
            holders.append(lines[0].removeprefix("worktree "))
    if holders:
        raise RefusedError(
            f"the evidence is also held by {', '.join(holders)}",
            hint="delete or switch away from them, then run this again; nothing was changed",
        )


def _rewrite(loc: Location, rollout_id: str, gone: set[str], remotes: Sequence[str]) -> None:
    """Put the evidence branch, and notes that name the rollout, on new roots."""
    ids = {rollout_id, *(layout.subject_of(p) for p in gone if p.startswith("trajectories/"))}
    tombstones = {layout.tombstone_path(i): canonical_json({"forgotten": True}) + b"\n" for i in ids}

    def attempt() -> bool:
        old = evidence.tip(loc)
        if old is None:
            raise RepositoryError(f"{loc.evidence_ref} is gone", hint="git fetch brings it back")
        number = witness.following(loc, old)
        roots = [
            _root(loc, loc.evidence_ref, {**dict.fromkeys(gone), **tombstones, witness.GENERATION: number})
        ]
        notes = _purged_notes(loc, rollout_id)
        if notes:
            roots.append(_root(loc, loc.notes_ref, notes))
        moves = [root.move for root in roots]
        moves += [Move(ref, loc.repo.ref(ref), None, REASON) for ref in remotes]
        _note(loc, [m.old for m in moves if m.old], {*gone, *notes}, roots)
        if not publish.publish(loc.repo, [o for root in roots for o in root.objects], moves):
            return False
        witness.remember(loc, roots[0].objects[-1].id)
        return True

    publish.retried(loc.repo, attempt, loc.evidence_ref)


@dataclass(frozen=True, slots=True)
class _Root:
    """A branch without history, made from what the tip of one has."""

    move: Move
    objects: tuple[GitObject, ...]
    """The commit comes last."""
    staying: frozenset[str]
    """The blobs that it keeps."""


def _root(loc: Location, ref: str, changes: Mapping[str, bytes | None]) -> _Root:
    old = loc.repo.ref(ref)
    before = old or tracking.tip(loc.repo, ref)
    tree = loc.repo.commit(before).tree if before else None
    spliced = trees.splice(loc.repo.read_tree, tree, changes)
    who = loc.repo.person()
    commit = objects.make_commit(spliced.tree, [], who, who, "Forget evidence\n")
    staying = (
        frozenset(oid for path, oid in loc.repo.files(tree) if path not in changes) if tree else frozenset()
    )
    return _Root(Move(ref, old, commit.id, REASON), (*spliced.objects, commit), staying)


def _purged_notes(loc: Location, rollout_id: str) -> dict[str, bytes | None]:
    """Return the evaluation notes that name the rollout, without the lines that do."""
    tip = loc.repo.ref(loc.notes_ref)
    found: dict[str, bytes | None] = {}
    for path, blob in loc.repo.files(loc.repo.commit(tip).tree) if tip else ():
        lines = loc.repo.blob(blob).splitlines(keepends=True)
        kept = [line for line in lines if rollout_id.encode() not in line]
        if len(kept) < len(lines):
            found[path] = b"".join(kept) or None
    return found


def _note(loc: Location, tips: Sequence[str], gone: set[str], roots: Sequence[_Root]) -> None:
    """Write down what has to go: the commits of the old histories, and the blobs that nothing keeps."""
    tips = [*tips, *_logged(loc)]
    commits = gitcli.run(loc.repo.place, ["rev-list", *tips]).decode().split()
    out = gitcli.run(loc.repo.place, ["rev-list", "--objects", *tips]).decode("utf-8", "replace")
    named = [line.split(" ", 1) for line in out.splitlines() if " " in line]
    staying = frozenset[str]().union(*(root.staying for root in roots))
    going = {oid: path for oid, path in named if path in gone and oid not in staying}
    # another store of the repository may have the same case, and with it the same ledger events
    shared = [oid for oid, path in going.items() if path.startswith(("cases/", "ledger/"))]
    pending = {"commits": commits, "shared": shared, "blobs": sorted(going.keys() - set(shared))}
    _pending(loc).write_text(json.dumps(pending), "utf-8")


def _logged(loc: Location) -> list[str]:
    """Return the commits in the reflog of the evidence branch, as far as they are here."""
    log = loc.repo.common_dir / "logs" / loc.evidence_ref
    lines = log.read_text("utf-8", "replace").splitlines() if log.is_file() else []
    found = {line[start : start + 40] for line in lines for start in (0, 41)}
    return sorted(oid for oid in found if oid.strip("0") and loc.repo.has(oid))


def _finish(loc: Location) -> None:
    """Purge what the branches no longer have, now or after a run that was interrupted."""
    file = _pending(loc)
    if not file.is_file():
        return
    pending = json.loads(file.read_text("utf-8"))
    if evidence.tip(loc) not in pending["commits"]:  # else it was interrupted before the branch moved
        purge.forget_reflogs(loc.repo, set(pending["commits"]))
        purge.purge(loc.repo, set(pending["blobs"]), set(pending["shared"]))
        derived.forget_answers(loc.repo)
    file.unlink()


def _pending(loc: Location) -> Path:
    return loc.repo.common_dir / f"xpstore.forget-{loc.config.id}"
