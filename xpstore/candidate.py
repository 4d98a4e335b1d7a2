"""What would land of a branch, and whether it may: a fast-forward of main that changes experiences only.

People commit to a candidate too, and their commits pass no guard; so its pages are looked at again. Code is
not landed: where the repository has more than the store, that is for the site that hosts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING

from xpstore import events, gitcli, guards, history, layout, page_check
from xpstore.errors import NotFoundError, RefusedError, UsageError, XpError
from xpstore.snapshot import NO_FILE, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xpstore.events import Entry
    from xpstore.location import Location

_SHOWN = 3
"""How many files a refusal names."""


@dataclass(frozen=True, slots=True)
class LandingCandidate:
    """What would land: main goes from commit `old` to commit `new`."""

    branch: str
    main: str
    old: str
    new: str
    entries: tuple[Entry, ...] = ()
    """The commits that change experiences, oldest first."""
    is_landed: bool = False
    """Main has all of it already."""

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """The plans that would land, oldest first."""
        return tuple(dict.fromkeys(i for entry in self.entries for i in entry.plan_ids))


def tip_of(loc: Location, branch: str) -> str:
    """Return the commit of a branch that can be landed. Raises UsageError where it is none."""
    ref = loc.branch_ref(branch)
    if ref in {loc.main_ref, loc.evidence_ref}:
        what = "where candidates land" if ref == loc.main_ref else "the evidence branch"
        raise UsageError(f"{branch} is {what}", hint="xp status lists the candidates")
    tip = loc.tip_of(ref)
    if tip is None:
        close = get_close_matches(branch, history.candidates(loc), 1)
        hint = f"did you mean {close[0]}?" if close else "xp status lists the candidates"
        raise UsageError(f"there is no branch '{branch}'", hint=hint)
    return tip


def propose(loc: Location, branch: str, new: str) -> LandingCandidate:
    """Return what would land if main moved from where it is to the commit `new` of a branch.

    Raises RefusedError where main cannot be fast-forwarded to it, or where it has what no plan may write;
    NotFoundError where there is no main.
    """
    main = loc.config.main
    old = loc.tip_of(loc.main_ref)
    if old is None:
        raise NotFoundError(f"there is no branch {main} to land on", hint="`main` in xp.toml names it")
    short = branch.removeprefix(layout.HEADS)
    if loc.repo.is_ancestor(new, old):
        return LandingCandidate(short, main, old, new, is_landed=True)
    entries = tuple(reversed(list(history.log(loc, f"{old}..{new}"))))
    candidate = LandingCandidate(short, main, old, new, entries)
    if not loc.repo.is_ancestor(old, new):
        events.need_whole_history(loc)
        if _is_on_main(loc, candidate):
            return LandingCandidate(short, main, old, new, is_landed=True)
        raise _moved(loc, candidate)
    _check_line(loc, candidate)
    changed = _check_paths(loc, candidate)
    _check_pages(loc, candidate, changed)
    return candidate


def _is_on_main(loc: Location, candidate: LandingCandidate) -> bool:
    """Return whether a hosting site's squash or rebase button has landed all of it already."""
    known = history.reachable_plan_ids(loc, [loc.main_ref])
    entries = candidate.entries
    return bool(entries) and all(entry.plan_ids and known.issuperset(entry.plan_ids) for entry in entries)


def _moved(loc: Location, candidate: LandingCandidate) -> RefusedError:
    branch, main = candidate.branch, candidate.main
    out = gitcli.run(loc.repo.place, ["rev-list", "--count", f"{candidate.new}..{candidate.old}"])
    count = int(out)
    commits = f"{count} commit{'' if count == 1 else 's'}"
    return RefusedError(
        f"{branch} is no fast-forward: {main} has {commits} that it does not have",
        hint=f"`{_rebase(candidate)}`, then land it; or delete it (`git branch -D {quote(branch)}`) and train"
        f" again, which plans anew on {main}",
    )


def _rebase(candidate: LandingCandidate) -> str:
    return f"git rebase {quote(candidate.main)} {quote(candidate.branch)}"


def _check_line(loc: Location, candidate: LandingCandidate) -> None:
    """Refuse a branch that has main as the side of a merge: history is read along first parents."""
    out = gitcli.run(loc.repo.place, ["rev-list", "--first-parent", f"{candidate.old}..{candidate.new}"])
    oldest = out.decode().split()[-1]
    if loc.repo.commit(oldest).parents[:1] != (candidate.old,):
        raise RefusedError(
            f"{candidate.branch} has {candidate.main} merged into it: its history would become a side line",
            hint=f"`{_rebase(candidate)}` makes it a straight line; land it then",
        )


def _check_paths(loc: Location, candidate: LandingCandidate) -> list[str]:
    """Return what changes below the folder of experiences; raise RefusedError where anything else does."""
    folder = loc.at(candidate.new).in_tree(layout.EXPERIENCES)
    span = f"{candidate.old}..{candidate.new}"
    quiet = ("-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")
    changed = gitcli.records(gitcli.run(loc.repo.place, ["diff", *quiet, candidate.old, candidate.new]))
    # commit by commit too: history keeps what a later commit takes away
    on_the_way = gitcli.records(gitcli.run(loc.repo.place, ["log", *quiet, "--root", "--format=", span]))
    outside = _not_below(folder, [*changed, *on_the_way])
    if outside:
        more = f" and {len(outside) - _SHOWN} more" if len(outside) > _SHOWN else ""
        raise RefusedError(
            f"{candidate.branch} changes files outside of {folder}/: {', '.join(outside[:_SHOWN])}{more}",
            hint="xp land takes what was learned and nothing else; merge such a branch by git, or by a pull"
            " request on the site that hosts the repository",
        )
    return changed


def _not_below(folder: str, paths: Iterable[str]) -> list[str]:
    readable = (path.encode("utf-8", "replace").decode() for path in paths if path)
    return sorted({path for path in readable if not path.startswith(f"{folder}/")})


def _check_pages(loc: Location, candidate: LandingCandidate, changed: Iterable[str]) -> None:
    """Raise RefusedError for a changed file that no plan could have written."""
    here = loc.at(candidate.new)
    before, after = (loc.repo.commit(commit).tree for commit in (candidate.old, candidate.new))
    folder = here.in_tree(layout.EXPERIENCES)
    created: list[str] = []
    for path in changed:
        entry, was = loc.repo.entry(after, path), loc.repo.entry(before, path)
        where = f"{candidate.branch}: {path.encode('utf-8', 'replace').decode()}"
        name = path.removeprefix(f"{folder}/").removesuffix(SUFFIX)
        if entry is None:
            continue
        if not entry.is_file:
            raise RefusedError(f"{where}: {NO_FILE}", hint="take it out of the branch")
        if "/" in name or not path.endswith(SUFFIX):
            continue  # no page
        created += [] if was else [name]
        old = loc.repo.blob(was.id).decode("utf-8", "replace") if was and was.is_file else ""
        try:
            page_check.check_page(name, loc.repo.blob(entry.id), where, here.config.limits, old)
        except XpError as error:
            raise RefusedError(page_check.located(error, where), hint=error.hint) from error
    names = loc.repo.folder(after, folder).names()
    guards.check_twins(created, [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)])
