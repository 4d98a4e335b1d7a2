"""Which plans rest on a piece of evidence: a rollout, a note, a case, or all rollouts of a session.

The ledger of a rollout has its plans, so this reads what it needs and not every record. Only cases and
sessions are searched for, by git and not here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from xpstore import evidence_read, gitcli, layout, patchtext, review
from xpstore.errors import NotFoundError, RepositoryError
from xpstore.hashing import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xpstore.location import Location

Kind = Literal["rollout", "trajectory", "case", "session"]

SESSION = "session"
"""The key in a rollout's metadata that names the session it was recorded in."""
_HEX = re.compile(r"[0-9a-f]{4,40}")
_HINT = "xp show lists the rollouts, notes and cases of a plan"


@dataclass(frozen=True, slots=True)
class Cited:
    """A piece of evidence, and the plans that rest on it, landed or not."""

    kind: Kind
    id: str
    """A case is named by its id or its name, a session by its name."""
    plans: frozenset[str]


def find(loc: Location, what: str) -> Cited:
    """Return the evidence that an id (or its first digits, 4 or more), a path or a name stands for.

    Raises NotFoundError for what is unknown or ambiguous, FormatError where the evidence was altered.
    """
    text = PurePosixPath(what.strip()).name.partition(".")[0] if "/" in what else what.strip()
    found = _by_id(loc, text) if _HEX.fullmatch(text) else []
    if text.isprintable():  # an argument that is no UTF-8 is not
        found = found or _sessions(loc, text) or _cases_called(loc, text)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{cited.kind} {cited.id}" for cited in found[:4])
        raise NotFoundError(f"'{what}' is short for {len(found)}: {names}", hint="give more of it")
    raise NotFoundError(f"there is no rollout, note, case or session '{what}' on record", hint=_HINT)


def _by_id(loc: Location, text: str) -> list[Cited]:
    rollouts = {i for kind in ("rollouts", "ledger") for i in evidence_read.find_ids(loc, kind, text)}
    found = [Cited("rollout", i, _plans(loc, [i])) for i in sorted(rollouts)]
    for note in evidence_read.find_ids(loc, "trajectories", text):
        uri = layout.trajectory_path(note)
        plans = _plans(loc, [review.note(loc, uri).rollout])
        found.append(Cited("trajectory", note, frozenset(p for p in plans if _cites(loc, p, uri))))
    for case in evidence_read.find_ids(loc, "cases", text):
        ledgers = _search(loc, f'"case":"{case}"', "ledger")
        found.append(Cited("case", case, _plans(loc, {PurePosixPath(path).parent.name for path in ledgers})))
    return found


def _plans(loc: Location, rollouts: Iterable[str]) -> frozenset[str]:
    events = [event for rollout in rollouts if rollout for event in evidence_read.ledger(loc, rollout)]
    return frozenset(str(e["plan"]) for e in events if e.get("event") == "planned" and e.get("plan"))


def _cites(loc: Location, plan: str, uri: str) -> bool:
    patches = evidence_read.patches(loc, plan).values()
    return any(uri in patchtext.read(data, plan).notes for data in patches)


def _sessions(loc: Location, text: str) -> list[Cited]:
    """Return the sessions whose names start so; a whole name is itself."""
    rollouts: dict[str, list[str]] = {}
    for path in _search(loc, f'"{SESSION}":{_json(text)[:-1]}', "rollouts") if text else ():
        metadata = evidence_read.parse_json(evidence_read.read(loc, path) or b"", path).get("metadata")
        name = metadata.get(SESSION) if isinstance(metadata, dict) else None
        if isinstance(name, str) and name.startswith(text):
            rollouts.setdefault(name, []).append(PurePosixPath(path).stem)
    names = [text] if text in rollouts else sorted(rollouts)
    return [Cited("session", name, _plans(loc, rollouts[name])) for name in names]


def _cases_called(loc: Location, name: str) -> list[Cited]:
    """Return the case of this name, as the records of plans have it."""
    records = _search(loc, f'"case":{_json(name)}', "gradients") if name else []
    plans = frozenset(PurePosixPath(path).parent.name for path in records if path.endswith(".json"))
    return [Cited("case", name, plans)] if plans else []


def _json(text: str) -> str:
    return canonical_json(text).decode()


def _search(loc: Location, text: str, folder: str) -> list[str]:
    """Return the evidence files below a folder that contain a text."""
    tip = evidence_read.tip(loc)
    if tip is None:
        return []
    options = ("--no-color", "--no-textconv", "-l", "-z", "-F", "-e", text)
    done = gitcli.attempt(loc.repo.place, ["grep", *options, tip, "--", folder])
    if done.code > 1:  # 1 = nothing found
        raise RepositoryError(f"git grep failed in {loc.repo.place}: {gitcli.first(done)}")
    return [path.partition(":")[2] for path in gitcli.records(done.out)]
