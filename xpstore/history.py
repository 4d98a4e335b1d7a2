"""What was learned, when, by whom: `xp log`, `xp diff`, and finding plans."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

from xpstore import events, evidence_read, gitcli, layout, location, recent, recognise
from xpstore.errors import NotFoundError
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from xpstore.events import Entry
    from xpstore.location import Location

SPARE = 4
"""Commits that git is asked for beyond those wanted: some may only have moved the store's folder."""
_HEX = re.compile(r"[0-9a-f]{4,40}")


def log(
    loc: Location,
    ref_or_range: str,
    *,
    name: str | None = None,
    limit: int | None = None,
    keep: Callable[[Entry], bool] | None = None,
) -> Iterator[Entry]:
    """Yield the first-parent commits that changed experiences, newest first, merges with their side.

    `name` keeps one experience, through renames, `keep` the commits that it says yes to; `limit` counts what
    is left. Raises NotFoundError.
    """
    few = None if keep else limit
    entries = _of_page(loc, ref_or_range, name, few) if name else _newest(loc, ref_or_range, few)
    tip = events.tip_of(events.revisions(loc, ref_or_range)[0])
    found = 0
    for entry in recognise.recognised(loc, entries[:few], tip=tip):
        if found == limit:
            return
        whole = events.with_side(loc, entry)
        if keep is None or keep(whole):
            found += 1
            yield whole


def plans_of_run(entry: Entry, run: str) -> tuple[str, ...]:
    """Return the plans of a commit that a training run made; the first characters of its id will do."""
    stamps = [stamp for e in (entry, *entry.merged) for stamp in e.stamps]
    return tuple(dict.fromkeys(s.plan_id for s in stamps if run and s.get("Run-Id").startswith(run)))


def _newest(loc: Location, spec: str, limit: int | None) -> list[Entry]:
    if limit is not None and ".." not in spec:
        few = recent.newest(loc, events.commit_of(loc, spec), limit)
        if few is not None:
            return few
    count = () if limit is None else (f"--max-count={limit + SPARE}",)
    return list(events.read(loc, spec, options=("--first-parent", *count)))


def _of_page(loc: Location, spec: str, name: str, limit: int | None) -> list[Entry]:
    """Return the events of one experience through its renames: all, or at least as many as asked for."""
    if limit is not None:
        count = f"--max-count={limit + SPARE}"
        entries = of_experience(loc, spec, name, options=("--first-parent", count))
        touched = _touching(entries, name)
        if len(touched) >= limit or len(entries) < limit:
            return touched
    return _touching(of_experience(loc, spec, name), name)


def _touching(entries: Iterable[Entry], name: str) -> list[Entry]:
    """Return those that changed the page; another one that had one of its names since is not it."""
    names = {name}
    found: list[Entry] = []
    for entry in entries:
        touched = [c for c in entry.changes if c.name in names or c.old_name in names]
        names |= {c.old_name for c in touched if c.kind == "R" and c.name in names}
        if touched:
            found.append(entry)
    return found


def of_experience(
    loc: Location, spec: str, name: str, *, options: Sequence[str] = ("--first-parent",)
) -> list[Entry]:
    """Return the events that changed an experience under any of its names, and perhaps more; newest first.

    `options` are git's, on which commits to look at. Merges come without their side.
    """
    names = {name}
    while True:
        found = list(events.read(loc, spec, options=options, only=sorted(names)))
        older = {c.old_name for e in found for c in e.changes if c.kind == "R" and c.name in names}
        if older <= names:
            return found
        names |= older


def reachable_plan_ids(loc: Location, refs: Iterable[str]) -> frozenset[str]:
    """Return the plans that the history of these branches names, merged sides included.

    Branches that do not exist have none. A plan that was undone is still there: undone is not forgotten.
    """
    tips = sorted({tip for ref in refs if (tip := _tip(loc, ref))})
    if not tips:
        return frozenset()
    out = gitcli.run(
        loc.repo.place,
        [*("log", "-z", "--encoding=UTF-8", events.PLAN_GREP, "--format=%B"), *tips, "--"],
    )
    named = frozenset(s.plan_id for message in _texts(out) for s in events.stamps(message, loc.config.id))
    if all(plan_id in named for plan_id in evidence_read.find_ids(loc, "gradients", "")):
        return named
    entries = {e.commit: e for tip in tips for e in events.read(loc, tip, options=("--no-merges",))}
    return named | {i for e in recognise.recognised(loc, list(entries.values())) for i in e.plan_ids}


def candidates(loc: Location) -> list[str]:
    """Return the open candidate branches of this store, sorted; merged ones are not open.

    They are those named as one (`train/…`), and those with plans of this store that main does not have.
    """
    prefix = f"{layout.HEADS}{loc.candidate_prefix}"
    branches = [ref for ref in _branches(loc) if ref != loc.main_ref]
    main = loc.tip_of(loc.main_ref) if branches else None
    merged = gitcli.run(loc.repo.place, ["branch", "--merged", main, "--format=%(refname)"]) if main else b""
    closed = set(merged.decode("utf-8", "surrogateescape").splitlines())
    open_ = [ref for ref in branches if ref not in closed]
    named = [ref for ref in open_ if ref.startswith(prefix)]
    others: set[str] = set()
    if not loc.config.name and any("/" in ref.removeprefix(prefix) for ref in named):
        others = {at.config.name for at in location.stores(loc.repo) if at.config.name}
    found = {ref for ref in named if ref.removeprefix(prefix).partition("/")[0] not in others}
    if main:
        found |= _ahead(loc, main, [ref for ref in open_ if ref not in named])
    return sorted(ref.removeprefix(layout.HEADS) for ref in found)


def _ahead(loc: Location, main: str, branches: Sequence[str]) -> set[str]:
    """Return those of these branches, full names, that have plans of this store in commits beyond main."""
    if not branches:
        return set()
    options = ("log", "-z", "--encoding=UTF-8", events.PLAN_GREP, "--format=%H%x00%P%x00%B")
    out = gitcli.run(loc.repo.place, [*options, f"^{main}", *branches, "--"])
    tokens = out.decode("utf-8", "replace").split("\0")
    rows = zip(tokens[::3], tokens[1::3], tokens[2::3], strict=False)
    own = {commit: parents.split() for commit, parents, text in rows if events.stamps(text, loc.config.id)}
    # who has a plan that was made after another has that one too
    first = [commit for commit, parents in own.items() if own.keys().isdisjoint(parents)]
    if not own:
        return set()
    having = [word for commit in first for word in ("--contains", commit)]
    holders = gitcli.run(loc.repo.place, ["for-each-ref", "--format=%(refname)", *having, *branches])
    return set(holders.decode("utf-8", "surrogateescape").splitlines())


def find_plan(loc: Location, abbreviation: str) -> str:
    """Return the plan id that starts so. Raises NotFoundError where there is none or more than one."""
    known = set(evidence_read.find_ids(loc, "gradients", abbreviation))
    landed = reachable_plan_ids(loc, [loc.main_ref, *_branches(loc)])
    known |= {plan_id for plan_id in landed if plan_id.startswith(abbreviation)}
    if len(known) == 1:
        return known.pop()
    if known:
        raise NotFoundError(
            f"'{abbreviation}' is short for {len(known)} plans: {', '.join(sorted(known)[:4])}",
            hint="give more digits",
        )
    raise NotFoundError(f"no plan '{abbreviation}' in this store", hint="xp log lists the plans")


def find_commit(loc: Location, plan_or_rev: str, *, within: str | None = None) -> str:
    """Return the commit of a plan id (or its first digits, 4 or more), a branch or any git revision.

    A plan is looked for on `within` if given, then on main, then on the other branches; the newest commit
    of it counts. Raises NotFoundError for what is unknown or ambiguous.
    """
    text = plan_or_rev.strip()
    try:
        return _commit(loc, text, within)
    except NotFoundError as error:
        if _is_page(loc, text):
            error.hint = f"it is an experience: xp log --experience {quote(text)} lists its plans"
        raise


def _is_page(loc: Location, text: str) -> bool:
    """Return whether main, or what is checked out, has an experience of this name."""
    path = layout.join(layout.EXPERIENCES, f"{text}{events.SUFFIX}")
    tips = (loc.tip_of(loc.main_ref), _tip(loc, "HEAD"))
    return any(tip and loc.repo.entry(loc.repo.commit(tip).tree, loc.in_tree(path)) for tip in tips)


def _commit(loc: Location, text: str, within: str | None) -> str:
    branch = events.branch_tip(loc, text)
    if branch:
        return branch
    if _HEX.fullmatch(text):
        try:
            plan_id = find_plan(loc, text)
        except NotFoundError as error:
            return _revision(loc, text, error)
        commit = commit_of_plan(loc, plan_id, within=within)
        if commit:
            return commit
        raise NotFoundError(
            f"plan {plan_id} is on record, but on no branch",
            hint="its branch was deleted; train again to plan anew",
        )
    return events.commit_of(loc, text)


def commit_of_plan(loc: Location, plan_id: str, *, within: str | None = None) -> str:
    """Return the newest commit that names the plan, on the first branch that has one; "" for none."""
    for ref in [within, loc.config.main, "HEAD", *_branches(loc)]:
        tip = _tip(loc, ref) if ref else None
        if tip:
            grep = f"{events.PLAN_GREP}[ \t]*{plan_id}"
            out = gitcli.run(loc.repo.place, ["log", "-z", "-1", grep, "--format=%H", tip, "--"])
            if out:
                return out.decode().strip("\0\n")
    named = (e for e in log(loc, within or loc.config.main) if plan_id in e.plan_ids)
    found = next(named, None)  # a commit that has only a title left
    return found.commit if found else ""


def diff(loc: Location, a: str, b: str, name: str | None = None) -> str:
    """Return git's diff of the experiences between two revisions, whole or of one experience."""
    start, end = find_commit(loc, a), find_commit(loc, b)
    return changes(loc, start, end, name)


def changes(loc: Location, start: str, end: str, name: str | None = None) -> str:
    """Return the unified diff between two commits, or from EMPTY_TREE to one."""
    ends = [end] if start == EMPTY_TREE else [end, start]
    folders = dict.fromkeys(loc.at(commit).in_tree(layout.EXPERIENCES) for commit in ends)
    paths = [f"{folder}/{name}{events.SUFFIX}" if name else folder for folder in folders]
    out = gitcli.run(
        loc.repo.place,
        [
            *("diff", "-M", "--no-ext-diff", "--no-textconv", "--no-relative"),
            *("--src-prefix=a/", "--dst-prefix=b/", start, end, "--", *paths),
        ],
    )
    return out.decode("utf-8", "replace")


def _branches(loc: Location) -> list[str]:
    """Return every branch but those of evidence."""
    return [ref for ref in loc.repo.refs(layout.HEADS) if not ref.startswith(f"{layout.HEADS}xp/")]


def _revision(loc: Location, text: str, no_plan: NotFoundError) -> str:
    try:
        return loc.repo.resolve(text)
    except NotFoundError:
        raise no_plan from None


def _tip(loc: Location, ref: str) -> str | None:
    try:
        return events.commit_of(loc, ref)
    except NotFoundError:
        return None


def _texts(out: bytes) -> list[str]:
    return [part.decode("utf-8", "replace") for part in out.split(b"\0") if part]
