"""The evidence branch only grows: what a push may do to it.

Every file is there for good, byte for byte. What was forgotten (`xp forget`) begins the branch anew, with a
tombstone and a higher generation; a clone of an older generation would bring it back, and is refused until
it has exchanged with `xp sync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks import changes
from hooks.remark import Remark
from xpstore import evidence, gitcli, layout, witness
from xpstore.evidence_check import Evidence
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hooks.changes import Change
    from xpstore.location import Location

MOST_LEVELS = 8
"""Folders in folders; what reads them goes down one by one."""
_NAME_SHOWN = 80
MOST_BYTES = 64 * 1024 * 1024
"""Of one evidence file."""
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
    start = loc.repo.commit(old).tree if old else EMPTY_TREE
    found = changes.between(loc.repo, start, loc.repo.commit(new).tree)
    lost = [change for change in found if change.before]
    bad = [*_lost(loc, new, lost, is_anew=is_anew)]
    bad = bad or [*_lost_on_the_way(loc, old, new)]
    added = [
        change
        for change in found
        if change.after and not (change.before and change.path == witness.GENERATION)
    ]
    return _first([*bad, *_added(loc, new, added)])


def _lost(loc: Location, new: str, lost: Iterable[Change], *, is_anew: bool) -> Iterator[Remark]:
    for change in lost:
        path = change.path
        if is_anew:
            is_removed = change.after is None
            # the case of a forgotten rollout goes with it
            is_gone = is_removed and (path.startswith("cases/") or _is_forgotten(loc, new, path))
            # of two first tries of a plan a new beginning keeps one
            is_kept = not is_removed and path.startswith((evidence.FIRST_WINS, witness.GENERATION))
            if is_gone or is_kept:
                continue
        verb = "changes" if change.after else "removes"
        yield Remark(
            f"the push {verb} evidence: {path}", "evidence is never changed; xp forget removes a rollout"
        )


def _lost_on_the_way(loc: Location, old: str | None, new: str) -> Iterator[Remark]:
    """Yield what a commit of the push takes away, though a later one may put it back."""
    span = [new, *([f"^{old}"] if old else [])]
    options = ("-z", "--no-renames", "--no-ext-diff", "--diff-merges=separate", "--diff-filter=MDT")
    out = gitcli.run(loc.repo.place, ["log", *options, "--name-only", "--format=", *span])
    for path in dict.fromkeys(gitcli.records(out)):
        if path != witness.GENERATION and not _is_forgotten(loc, new, path):
            yield Remark(f"a commit of the push changes or removes evidence: {path}", _SYNC)


def _added(loc: Location, new: str, added: Iterable[Change]) -> Iterator[Remark]:
    files = {c.path: c.after.id for c in added if c.after and c.after.is_file}
    shelf = Evidence(loc, files)
    for change in added:
        path = change.path
        if path.count("/") >= MOST_LEVELS or not _is_text(path):
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
