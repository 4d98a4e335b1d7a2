"""What may happen where main here and main of another repository meet.

One has the other in its history   the one that is behind follows, whatever the commits are: code as well
both have moved                    plans of this clone go on top of theirs (reparent.py); commits that change
                                   more than experiences, and merges, are for git to bring together
nothing in common, or most pages   refused with the names of what would be lost: a forced push, another
gone                               repository, a mistake
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import candidate, gitcli, layout
from xpstore.candidate import pages_at, shown
from xpstore.errors import RefusedError

if TYPE_CHECKING:
    from xpstore.location import Location


def check(loc: Location, remote: str, theirs: str) -> None:
    """Look at main here and at main of the remote before anything is changed. Raises RefusedError."""
    main, there = loc.config.main, f"{remote}/{loc.config.main}"
    ours = loc.repo.ref(loc.main_ref)
    if ours is None or ours == theirs:
        return
    if loc.repo.is_ancestor(theirs, ours):
        hint = f"nothing was published; if they are meant to go: git push {remote} {main}"
        _check_pages(loc, theirs, ours, f"{main} would take from {there}", hint)
    elif loc.repo.is_ancestor(ours, theirs):
        hint = f"nothing was changed; if they are meant to go: git merge --ff-only {there}"
        _check_pages(loc, ours, theirs, f"{there} would take from {main}", hint)
    else:
        _check_related(loc, remote, ours, theirs)
        _check_own(loc, remote, ours, theirs)


def _check_pages(loc: Location, old: str, new: str, what: str, hint: str) -> None:
    if lost := candidate.most_pages(loc, old, new):
        raise RefusedError(f"{what} {lost}", hint=hint)


def _check_related(loc: Location, remote: str, ours: str, theirs: str) -> None:
    """Raise RefusedError where main of the remote shares no commit with main here."""
    done = gitcli.attempt(loc.repo.place, ["merge-base", ours, theirs])
    if done.code == 0:
        return
    here, there = pages_at(loc, ours), pages_at(loc, theirs)
    lost = sorted(here.keys() - there.keys())
    main = loc.config.main
    names = (
        f"; of {len(here)} pages here it has {len(here) - len(lost)}, without {shown(lost)}" if lost else ""
    )
    raise RefusedError(
        f"{remote}/{main} has no history in common with {main}{names}",
        hint=f"nothing was changed; if somebody replaced it by mistake, `git push --force-with-lease {remote}"
        f" {main}` puts yours back; what is there is kept as {remote}/{main}",
    )


def _check_own(loc: Location, remote: str, ours: str, theirs: str) -> None:
    """Raise RefusedError where git has to bring both together: a merge, or a commit of more than experiences.

    It names the first such commit of this clone.
    """
    main = loc.config.main
    flags = ["log", "-z", "--reverse", "--format=%x01%H %P%x02%s", "--name-only", "--no-renames", "-m"]
    folder = f"{loc.at(ours).in_tree(layout.EXPERIENCES)}/"
    out = gitcli.run(loc.repo.place, [*flags, f"{theirs}..{ours}"]).decode("utf-8", "surrogateescape")
    for row in out.split("\x01")[1:]:
        head, _, rest = row.partition("\x02")
        subject, *paths = rest.replace("\n", "\0").split("\0")
        commit, *parents = head.split(" ")
        outside = [path for path in paths if path and not path.startswith(folder)]
        if len(parents) < 2 and not outside:
            continue
        why = "is a merge" if len(parents) > 1 else f"changes {candidate.shown(outside[:1])}"
        subject = subject.encode("utf-8", "replace").decode()
        raise RefusedError(
            f"{main} and {remote}/{main} have both moved, and {commit[:9]} here {why} ({subject})",
            hint=f"bring them together by git, `git pull --rebase {remote} {main}` or a merge, then run this"
            " again; nothing was published",
        )
