"""What would land of a branch, and whether it may: commits on top of main that change experiences only.

People commit to a candidate too, and their commits pass no guard; so its pages are looked at again. Code is
not landed: where the repository has more than the store, that is for the site that hosts it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING, Literal

from xpstore import duplicates, gitcli, guards, held_plans, history, layout, page_check
from xpstore.errors import NotFoundError, RefusedError, UsageError, XpError
from xpstore.page_index import PageIndex
from xpstore.resolution import Asking
from xpstore.snapshot import NO_FILE, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xpstore.duplicates import Duplicate
    from xpstore.events import Entry
    from xpstore.held_plans import HeldPlan
    from xpstore.location import Location
    from xpstore.merge import MergePage
    from xpstore.merged_page import MergedPage

_SHOWN = 3
"""How many files outside of the experiences a refusal names."""
_SHOWN_LOST = 20
"""How many pages that would be lost a refusal names."""
SHRINKS_FROM = 5
"""Pages; a landing that takes away so many or more, and more than half of all, is a mistake."""

How = Literal["fast-forward", "re-parented", "merge"]


@dataclass(frozen=True, slots=True)
class Request:
    """Which branch is to land where."""

    branch: str
    ref: str
    tip: str
    """The branch's commit, read once: what is committed to it later stays out."""
    main: str
    main_ref: str
    is_merge: bool = False
    merge_page: MergePage = field(default_factory=Asking)
    """How a page is merged that both have changed."""


@dataclass(frozen=True, slots=True)
class LandingCandidate:
    """What would land: main goes from commit `old` to commit `new`."""

    branch: str
    main: str
    old: str
    new: str
    entries: tuple[Entry, ...] = ()
    """The commits that change experiences, oldest first."""
    others: int = 0
    """How many more commits land with them, which change none."""
    is_landed: bool = False
    """Main has all of it already."""
    how: How = "fast-forward"
    merges: tuple[MergedPage, ...] = ()
    """How the pages were merged of which main and branch had different versions."""
    left_out: tuple[str, ...] = ()
    """The branch's commits of which nothing is left to land: main has it, or it was decided away."""
    duplicates: tuple[Duplicate, ...] = ()
    """What it says that other pages say already, or say the opposite of."""
    suspects: tuple[HeldPlan, ...] = ()
    """Its plans that do not land by themselves."""
    let_in: tuple[str, ...] = ()
    """Who lets them land, a sentence for each of them."""

    @property
    def merged(self) -> tuple[str, ...]:
        """The names of those pages."""
        return tuple(dict.fromkeys(page.name for page in self.merges))

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """The plans that would land, oldest first."""
        return tuple(dict.fromkeys(i for entry in self.entries for i in entry.plan_ids))


def request(
    loc: Location,
    branch: str,
    *,
    onto: str = "",
    is_merge: bool = False,
    merge_page: MergePage | None = None,
) -> Request:
    """Return what is asked for; `onto` is a branch, "" the store's main; pages are merged without a model.

    Raises UsageError where one of them is no branch to land, or to land on.
    """
    main_ref = loc.branch_ref(onto) if onto else loc.main_ref
    ref = loc.branch_ref(branch)
    if loc.evidence_ref in {ref, main_ref} or ref == main_ref:
        what = "the evidence branch" if loc.evidence_ref in {ref, main_ref} else "where candidates land"
        named = onto if main_ref == loc.evidence_ref else branch
        raise UsageError(f"{named} is {what}", hint="xp status lists the candidates")
    tip = loc.tip_of(ref)
    if tip is None:
        close = get_close_matches(branch, history.candidates(loc), 1)
        hint = f"did you mean {close[0]}?" if close else "xp status lists the candidates"
        raise UsageError(f"there is no branch '{branch}'", hint=hint)
    short, main = (name.removeprefix(layout.HEADS) for name in (ref, main_ref))
    return Request(short, ref, tip, main, main_ref, is_merge, merge_page or Asking())


def where_to(loc: Location, asked: Request) -> str:
    """Return the commit that the branch to land on is at.

    Raises UsageError where a branch was named that is not there, NotFoundError where the store has no main.
    """
    old = loc.tip_of(asked.main_ref)
    if old is None:
        hint = (
            "`main` in xp.toml names it" if asked.main_ref == loc.main_ref else "git branch -a lists branches"
        )
        kind = NotFoundError if asked.main_ref == loc.main_ref else UsageError
        raise kind(f"there is no branch {asked.main} to land on", hint=hint)
    return old


def check(loc: Location, candidate: LandingCandidate) -> LandingCandidate:
    """Return a fast-forward of main with the commits in it.

    Raises RefusedError where it has what no plan may write, or takes away too much.
    """
    entries = tuple(reversed(list(history.log(loc, f"{candidate.old}..{candidate.new}"))))
    line = _check_line(loc, candidate)
    candidate = replace(candidate, entries=entries, others=line - len(entries))
    changed = _check_paths(loc, candidate)
    _check_loss(loc, candidate)
    _check_pages(loc, candidate, changed)
    return replace(candidate, suspects=held_plans.of(loc, entries, candidate.old))


def repeated(loc: Location, candidate: LandingCandidate) -> tuple[Duplicate, ...]:
    """Return what a candidate says that other pages say already; none where main's xp.toml ignores it.

    Raises RefusedError where it refuses such.
    """
    rules = loc.config_at(candidate.old).duplicates
    if rules.action == "ignore":
        return ()
    before, after = pages_at(loc, candidate.old), pages_at(loc, candidate.new)
    changes = {
        name: duplicates.Change(_text(loc, before.get(name)), _text(loc, after.get(name)))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }
    added = {name: change.after for name, change in changes.items() if change.after is not None}
    with PageIndex.at(loc, candidate.old) as there, duplicates.Shelf(added) as here:
        found = duplicates.find(changes, [there, here], rules)
    if found and rules.action == "refuse":
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise RefusedError(
            f"{candidate.branch}: {'; '.join(one.sentence for one in found[:_SHOWN])}{more}",
            hint='say it on one page and take it out of the other, or write `action = "warn"` below'
            " [duplicates] in xp.toml",
        )
    return found


def _text(loc: Location, blob: str | None) -> str | None:
    return None if blob is None else loc.repo.blob(blob).decode("utf-8", "replace")


def rebase_command(asked: Request | LandingCandidate) -> str:
    """Return what brings a branch up to date by hand."""
    return f"git rebase {quote(asked.main)} {quote(asked.branch)}"


def pages_at(loc: Location, commit: str) -> dict[str, str]:
    """Return name → blob of the experiences at a commit."""
    folder = loc.at(commit).in_tree(layout.EXPERIENCES)
    files = loc.repo.folder(loc.repo.commit(commit).tree, folder).files()
    return {name.removesuffix(SUFFIX): blob for name, blob in files.items() if name.endswith(SUFFIX)}


def shown(names: Sequence[str]) -> str:
    """Return the names for a message, the first ones of many."""
    more = f" and {len(names) - _SHOWN_LOST} more" if len(names) > _SHOWN_LOST else ""
    return ", ".join(name.encode("utf-8", "replace").decode() for name in names[:_SHOWN_LOST]) + more


def _check_loss(loc: Location, candidate: LandingCandidate) -> None:
    """Refuse a candidate that takes away most of what main has; a renamed page is none."""
    lost = most_pages(loc, candidate.old, candidate.new)
    if lost:
        raise RefusedError(
            f"{candidate.branch} would take {lost} from {candidate.main}",
            hint="`xp archive` stops serving pages and keeps them; if they are meant to go, merge it by git",
        )


def most_pages(loc: Location, old: str, new: str) -> str:
    """Return "5 of 6 pages (names)" where most pages of the commit `old` are gone in `new`; else ""."""
    before, after = pages_at(loc, old), pages_at(loc, new)
    kept = set(after.values())
    lost = sorted(name for name, blob in before.items() if name not in after and blob not in kept)
    if len(lost) < SHRINKS_FROM or len(lost) * 2 <= len(before):
        return ""
    return f"{len(lost)} of {len(before)} pages ({shown(lost)})"


def _check_line(loc: Location, candidate: LandingCandidate) -> int:
    """Return the number of commits along first parents, where history is read.

    Raises RefusedError for a branch that has main as the side of a merge.
    """
    out = gitcli.run(loc.repo.place, ["rev-list", "--first-parent", f"{candidate.old}..{candidate.new}"])
    line = out.decode().split()
    if loc.repo.commit(line[-1]).parents[:1] != (candidate.old,):
        raise RefusedError(
            f"{candidate.branch} has {candidate.main} merged into it: its history would become a side line",
            hint=f"land it with --merge, or make it a straight line: `{rebase_command(candidate)}`",
        )
    return len(line)


def _check_paths(loc: Location, candidate: LandingCandidate) -> list[str]:
    """Return what changes below the folder of experiences; raise RefusedError where anything else does."""
    folder = loc.at(candidate.new).in_tree(layout.EXPERIENCES)
    span = f"{candidate.old}..{candidate.new}"
    quiet = ("-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")
    changed = gitcli.records(gitcli.run(loc.repo.place, ["diff", *quiet, candidate.old, candidate.new]))
    # commit by commit too: history keeps what a later commit takes away
    on_the_way = gitcli.records(gitcli.run(loc.repo.place, ["log", *quiet, "--root", "--format=", span]))
    check_outside(candidate.branch, folder, [*changed, *on_the_way])
    return changed


def check_outside(branch: str, folder: str, paths: Iterable[str]) -> None:
    """Raise RefusedError where a branch changes anything that is not below a folder."""
    outside = _not_below(folder, paths)
    if outside:
        more = f" and {len(outside) - _SHOWN} more" if len(outside) > _SHOWN else ""
        raise RefusedError(
            f"{branch} changes files outside of {folder}/: {', '.join(outside[:_SHOWN])}{more}",
            hint="xp land takes what was learned and nothing else; merge such a branch by git, or by a pull"
            " request on the site that hosts the repository",
        )


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
