"""The evidence branch only grows: what a push may do to it.

Every file is there for good, byte for byte. What was forgotten (`xp forget`) begins the branch anew, with a
tombstone and a higher generation; a clone of an older generation would bring it back, and is refused until
it has exchanged with `xp sync`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hooks import changes
from hooks.remark import Remark
from xpstore import evidence, gitcli, layout, witness
from xpstore.errors import XpError
from xpstore.evidence_check import Evidence
from xpstore.hashing import canonical_json
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hooks.changes import Change
    from xpstore.location import Location

MOST_LEVELS = 8
"""Folders in folders; what reads them goes down one by one."""
_NAME_SHOWN = 80
MOST_BYTES = 64 * 1024 * 1024
"""Of one evidence file."""
MOST_JOINS = 8
"""Generations that a clone may be ahead without a tombstone: two first tries of a plan met elsewhere."""
_SYNC = "xp sync brings both together; nothing is lost by it"
_SHOWN = 5


def check(loc: Location, old: str | None, new: str) -> list[Remark]:
    """Return what speaks against moving the evidence branch from one commit to another; None: it begins.

    Raises RepositoryError where something cannot be read.
    """
    before = witness.generation(loc, old) if old else 0
    after = witness.generation(loc, new)
    if after < before:
        text = f"evidence of generation {after}, here it is {before}: it would bring back what was forgotten"
        return [Remark(text, _SYNC)]
    if old and after == before and not loc.repo.is_ancestor(old, new):
        return [Remark("evidence was rewritten: the push does not continue the branch", _SYNC)]
    is_anew = after > before
    if why := _no_beginning(loc, old, new, before, after):
        return [Remark(why, "xp forget begins the branch anew, a generation each time; xp verify checks it")]
    start = loc.repo.commit(old).tree if old else EMPTY_TREE
    found = changes.between(loc.repo, start, loc.repo.commit(new).tree)
    lost = [change for change in found if change.before]
    bad = [*_lost(loc, new, lost, is_anew=is_anew)]
    bad = bad or [*_older(loc, old, new, after)] or [*_lost_on_the_way(loc, old, new)]
    added = [
        change
        for change in found
        if change.after and not (change.before and change.path == witness.GENERATION)
    ]
    return _first([*bad, *_added(loc, new, added)])


def _no_beginning(loc: Location, old: str | None, new: str, before: int, after: int) -> str:
    """Return why the number of the generation is none that the branch may have; "" where it may."""
    if witness.is_nonsense(loc, new):
        return f"the file {witness.GENERATION} of the evidence holds no number of a generation"
    if old is None or after == before:
        return ""
    if loc.repo.is_ancestor(old, new):
        return f"evidence of generation {after} continues that of generation {before}"
    # two clones may have forgotten the same, and met: its tombstones need not be new
    most = before + MOST_JOINS + sum(1 for _ in loc.repo.files(loc.repo.commit(new).tree, layout.TOMBSTONES))
    if after <= most:
        return ""
    return f"evidence of generation {after}, here it is {before}: so often nothing was forgotten"


def _lost(loc: Location, new: str, lost: Sequence[Change], *, is_anew: bool) -> Iterator[Remark]:
    forgotten = {c.path for c in lost if is_anew and c.after is None and _is_forgotten(loc, new, c.path)}
    # the case of a forgotten rollout goes with it, if no other rollout has it
    cases = {c.path: c.before.id for c in lost if c.before and not c.after and c.path.startswith("cases/")}
    if any(path.startswith(("rollouts/", "ledger/")) for path in forgotten):
        forgotten |= cases.keys() - _needed(loc, new, cases)
    for change in lost:
        path = change.path
        if path in forgotten or (is_anew and path == witness.GENERATION and change.after):
            continue
        verb = "changes" if change.after else "removes"
        yield Remark(
            f"the push {verb} evidence: {path}", "evidence is never changed; xp forget removes a rollout"
        )


def _needed(loc: Location, new: str, cases: dict[str, str]) -> set[str]:
    """Return which of these cases, path → blob, a rollout has that stays."""
    marks = {}
    for path, blob in cases.items():
        with suppress(XpError):  # no case: nobody has it
            marks[path] = b'"case":' + canonical_json(evidence.parse_json(loc.repo.blob(blob), path))
    found: set[str] = set()
    for _, blob in loc.repo.files(loc.repo.commit(new).tree, "rollouts") if marks else ():
        data = loc.repo.blob(blob)
        found |= {path for path, mark in marks.items() if mark in data}
    return found


def _older(loc: Location, old: str | None, new: str, after: int) -> Iterator[Remark]:
    """Yield the commits of the push that are of another generation, such as one with what was forgotten."""
    span = [new, *([f"^{old}"] if old else [])]
    for commit in gitcli.run(loc.repo.place, ["rev-list", *span]).decode().split():
        number = witness.generation(loc, commit)
        if number != after:
            yield Remark(
                f"commit {commit[:12]} of the push is of generation {number}, and not of {after}: its history"
                " would bring back what was forgotten",
                _SYNC,
            )


def _lost_on_the_way(loc: Location, old: str | None, new: str) -> Iterator[Remark]:
    """Yield what a commit of the push takes away, though a later one may put it back."""
    span = [new, *([f"^{old}"] if old else [])]
    options = ("-z", "--no-renames", "--no-ext-diff", "--diff-merges=separate", "--diff-filter=MDT")
    out = gitcli.run(loc.repo.place, ["log", *options, "--name-only", "--format=", *span])
    for path in dict.fromkeys(gitcli.records(out)):
        yield Remark(f"a commit of the push changes or removes evidence: {path}", _SYNC)


def _added(loc: Location, new: str, added: Iterable[Change]) -> Iterator[Remark]:
    files = {c.path: c.after.id for c in added if c.after and c.after.is_file}
    shelf = Evidence(loc, files)
    for change in added:
        path = change.path
        if path.count("/") >= MOST_LEVELS or not _is_text(path) or not layout.is_evidence(path):
            yield Remark(
                f"no file of the evidence is called {path[:_NAME_SHOWN]}", "evidence is what xp writes"
            )
        elif path not in files:
            yield Remark(f"evidence has {path}, which is no file", "links and submodules are no evidence")
        elif loc.repo.size(files[path]) > MOST_BYTES:
            yield Remark(
                f"evidence file {path} has more than {MOST_BYTES} bytes", "it is too large to be one"
            )
        elif _is_forgotten(loc, new, path):
            yield Remark(f"{layout.subject_of(path)} was forgotten, and {path} brings it back", _SYNC)
        elif problem := shelf.problem(path):
            yield Remark(problem, "evidence is named by its content: xp verify")


def _is_text(path: str) -> bool:
    """Return whether a path is UTF-8; other bytes are lone surrogates."""
    return path == path.encode("utf-8", "replace").decode()


def _is_forgotten(loc: Location, tip: str, path: str) -> bool:
    subject = layout.subject_of(path)
    return (
        bool(subject)
        and loc.repo.entry(loc.repo.commit(tip).tree, layout.tombstone_path(subject)) is not None
    )


def _first(remarks: list[Remark]) -> list[Remark]:
    more = len(remarks) - _SHOWN
    return [*remarks[:_SHOWN], *([Remark(f"and {more} more of the kind")] if more > 0 else [])]
