"""What may happen to the branch that agents read: it fast-forwards, to experiences that a gate has accepted.

A push that leaves the experiences as they are passes: code is for whoever reviews code. What decides is the
store as it is before the push: its limits, its thresholds, its cases.
"""

from __future__ import annotations

from collections import deque
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from hooks import belief, changes, page_rules, suspect_rules
from hooks.remark import Remark
from xpstore import gitcli, layout, signatures
from xpstore.evaluation import experiences_at
from xpstore.location import stores_at
from xpstore.names import fold
from xpstore.objects import EMPTY_TREE
from xpstore.snapshot import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hooks.belief import Disbelief, Found
    from hooks.trust import Trust
    from xpstore.git import Repo
    from xpstore.location import Location

MOST_STEPS = 1_000
"""Commits of one push whose experiences are looked at one by one."""
_SHOWN = 10
_RULES = ("gate", "limits", "environment", "evaluation", "sign", "duplicates")
"""The tables of xp.toml that say how a candidate is measured and judged."""


def guarded(repo: Repo, ref: str, commit: str) -> list[Location]:
    """Return the stores that have this branch as the one that agents read, as they are at a commit of it."""
    found, _ = stores_at(repo, repo.commit(commit).tree)
    return [loc for loc in found if loc.main_ref == ref]


def check_first(loc: Location, new: str) -> list[Remark]:
    """Return what speaks against a branch that begins with a store: there is nothing to compare it with."""
    return [*_beside(loc, EMPTY_TREE, new)][:_SHOWN] or [*_pages(loc, EMPTY_TREE, new)][:_SHOWN]


def check(loc: Location, old: str, new: str, evidence: str | None, trust: Trust) -> list[Remark]:
    """Return what speaks against moving a store's main branch from one commit to another.

    `loc` is the store at `old`; `evidence` is the tip of its evidence after the push. Raises RepositoryError
    where something cannot be read.
    """
    main = loc.config.main
    if not loc.repo.is_ancestor(old, new):
        hint = f"git pull --rebase, or xp sync; git revert undoes what is on {main}"
        return [Remark(f"{main} only moves forward: {new[:12]} does not contain {old[:12]}", hint)]
    changed = [] if trust.frees_gate else _rules(loc, old, new)
    changed = changed or [*_beside(loc, loc.repo.commit(old).tree, new)][:_SHOWN]
    if changed:
        return changed
    before, after = experiences_at(loc, old), experiences_at(loc, new)
    line = [*_line(loc, old, new)]
    if before == after:
        return [*_signatures(loc, old, new, trust), *line][:_SHOWN]
    found = [*_pages(loc, before, new), *_signatures(loc, old, new, trust)][:_SHOWN]
    if not found:
        found = _decided(loc, old, new, belief.Court(loc, old, evidence, trust), trust)
    return [*found, *line]


def _line(loc: Location, old: str, new: str) -> Iterator[Remark]:
    """Yield a warning where main becomes the side of a merge: history is read along first parents."""
    out = gitcli.run(loc.repo.place, ["rev-list", "--first-parent", f"{old}..{new}"]).decode().split()
    if out and loc.repo.commit(out[-1]).parents[:1] != (old,):
        text = f"{loc.config.main} was merged into what is pushed: its history becomes a side line"
        yield Remark(text, "git pull --rebase keeps it straight", blocks=False)


def _rules(loc: Location, old: str, new: str) -> list[Remark]:
    """Return what a push would change of the store so that the next one is checked by other rules."""
    here, suite = loc.at(new), f"{layout.CASES}/{loc.config.gate.suite}.jsonl"
    config = loc.config_at(new)
    changed = [
        f"[{name}] of xp.toml" for name in _RULES if getattr(config, name) != getattr(loc.config, name)
    ]
    before, after = (
        at.repo.entry(at.repo.commit(commit).tree, at.in_tree(suite))
        for at, commit in ((loc, old), (here, new))
    )
    changed += [suite] if before != after else []
    if not changed:
        return []
    allow = "where that is wanted: git config xp.allowGateChange true, on the server, until it is pushed"
    return [Remark(f"the push changes {', '.join(changed)}, by which the next push would be judged", allow)]


def _beside(loc: Location, before: str, new: str) -> Iterator[Remark]:
    """Yield what a checkout would show in place of the experiences, or among them, that no gate looks at.

    A submodule can have the id of their tree. An entry with a slash in its name lies beside the folder, and
    in it once it is checked out; so does a twin of the folder on disks that tell no case or encoding apart.
    Twins that were in `before`, a tree of the repository, may stay.
    """
    tree, above = loc.repo.commit(new).tree, ""
    for part in loc.at(new).in_tree(layout.EXPERIENCES).split("/"):
        known = {part, *(name for name in loc.repo.folder(before, above).names() if "/" not in name)}
        for name in loc.repo.folder(tree, above).names():
            if name not in known and fold(name.partition("/")[0]) == fold(part):
                twin = layout.join(above, name)
                yield Remark(
                    f"{twin} would be checked out as {layout.join(above, part)}", "choose another name"
                )
        above = layout.join(above, part)
    entry = loc.repo.entry(tree, above)
    if entry and not entry.is_tree:
        yield Remark(f"{above} is no folder", "experiences are files in it")


def _pages(loc: Location, before: str, new: str) -> Iterator[Remark]:
    """Yield what is wrong with the experiences that a push changes, by the limits of before."""
    here = loc.at(new)
    repo, folder = loc.repo, here.in_tree(layout.EXPERIENCES)
    tree = repo.commit(new).tree
    entry = repo.entry(tree, folder)
    changed = changes.between(repo, before, entry.id if entry else EMPTY_TREE, folder)
    names = repo.folder(tree, folder).names()
    pages = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
    at = len(folder) + 1
    created = {c.path[at:].removesuffix(SUFFIX) for c in changed if c.after and not c.before}
    yield from page_rules.check_names(created & set(pages), pages, folder)
    for change in changed:
        yield from page_rules.check_change(repo, change, folder, loc.config.limits)


def _signatures(loc: Location, old: str, new: str, trust: Trust) -> Iterator[Remark]:
    """Yield the commits that change experiences and have no good signature, where the owner wants one."""
    if not trust.wants_signed:
        return
    for found in signatures.missing(loc, old, new, signatures.trust_of(loc.repo, trust.signers)):
        why = f": {found.reason}" if found.reason else ""
        yield Remark(
            f"{found.commit[:12]} changes experiences, and its signature is {found.state}{why}",
            "[sign] in xp.toml signs plans, git commit -S other commits; xp.allowedSigners names the keys",
        )


def _decided(loc: Location, old: str, new: str, court: belief.Court, trust: Trust) -> list[Remark]:
    """Return what the gate, or a person who is asked for a word, has not said about a push."""
    start, end = experiences_at(loc, old), experiences_at(loc, new)
    steps = _steps(loc, old, new) | {start, end}
    found = _gate(loc, court, steps, start, end) if trust.needs_gate else []
    return found or [*islice(suspect_rules.check(loc, old, new, court, steps), _SHOWN)]


def _gate(loc: Location, court: belief.Court, steps: set[str], start: str, end: str) -> list[Remark]:
    """Return why no accepted decision leads from some experiences to others, by `steps` between them.

    Several landings may be pushed at once: then each has its own, from what the one before it has left.
    """
    known = court.decisions(steps)
    todo, seen = deque([start]), {start}
    refused: list[tuple[Found, Disbelief]] = []
    while todo:
        here = todo.popleft()
        for found in (each for each in known if each.record.baseline == here):
            after = found.record.experiences
            if after in seen or after not in steps:
                continue
            try:
                court.check(found)
            except belief.Disbelief as error:
                refused.append((found, error))
                continue
            if after == end:
                return []
            seen.add(after)
            todo.append(after)
    return [_why(loc, known, refused, start, end)]


def _steps(loc: Location, old: str, new: str) -> set[str]:
    """Return the trees of experiences between two commits, along first parents."""
    line = takewhile(lambda commit: commit.id != old, loc.repo.first_parents(new))
    return {experiences_at(loc, commit.id) for commit in islice(line, MOST_STEPS)}


def _why(
    loc: Location,
    known: Sequence[Found],
    refused: Sequence[tuple[Found, Disbelief]],
    start: str,
    end: str,
) -> Remark:
    what = f"the experiences of {loc.config.main}"
    direct = [error for found, error in refused if found.record.experiences == end]
    for error in (*direct, *(error for _, error in refused)):
        return Remark(f"{what} stay: {error.why}", error.hint)
    others = [
        found.record for found in known if found.record.experiences == end and found.record.baseline != start
    ]
    if others:
        text = (
            f"{what} stay: the gate has compared these with {others[-1].baseline[:12]}, not with {start[:12]}"
        )
        return Remark(text, "xp land brings the branch up to date and measures it again")
    text = f"{what} stay: no gate has looked at exactly these ({end[:12]})"
    return Remark(text, _MEASURED if loc.config.environment.name else _UNMEASURABLE)


_MEASURED = "xp land BRANCH measures and lands; xp sync pushes main together with its evidence"
_UNMEASURABLE = (
    "xp.toml names no [environment] to measure in: the server's owner lets one come (git config"
    " xp.allowGateChange true, on the server), or takes experiences without a gate (xp.requireGate false)"
)
