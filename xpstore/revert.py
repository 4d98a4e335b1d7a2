"""Undo of a plan as a new plan. What came later stays: the undo is merged into it, statement by statement.

Per experience: base = what the plan left, ours = the branch now, theirs = what was there before the plan.
Reverting a revert lands the plan again; a plain `git revert` counts as one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xpstore import decision, events, evidence, history, timeline
from xpstore.errors import (
    Conflict,
    ConflictError,
    FormatError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from xpstore.experience import experience_uri
from xpstore.hashing import blob_id
from xpstore.merge import merge
from xpstore.patchfile import read_patch
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xpstore.events import Entry
    from xpstore.location import Location
    from xpstore.timeline import Timeline

NOTHING = blob_id(None)


@dataclass(frozen=True, slots=True)
class RevertResult:
    """The undo, and what it met."""

    plan: PolicyUpdatePlan
    target: Entry
    """The commit whose plans are undone."""
    later: tuple[Entry, ...]
    """Later commits on the same experiences, oldest first: they stay, and may build on what goes."""
    commit: str = ""
    """The new commit; "" in a dry run."""


@dataclass(frozen=True, slots=True)
class _Effect:
    """What the target did to one experience, under the name that the experience has now."""

    name: str
    names: frozenset[str]
    """All names since."""
    before: str | None
    after: str | None


def revert(loc: Location, target: str, branch: str, *, dry_run: bool = False) -> RevertResult:
    """Undo a plan (id, its first digits, or its commit) on a branch.

    Raises NotFoundError where the branch has no such plan, UsageError for a person's commit, RefusedError
    where the plan is undone already, and ConflictError where later changes overlap with it (it names them).
    """
    if dry_run:
        return _planned(loc, target, branch, events.commit_of(loc, branch))
    result, sha = decision.land(loc, branch, lambda tip: _planned(loc, target, branch, tip))
    return replace(result, commit=sha)


def _planned(loc: Location, target: str, branch: str, tip: str) -> RevertResult:
    line = timeline.build(loc, tip)
    at, plans = _target(loc, line, target, branch)
    entry = line.moments[at].entry
    later = _since(line, at)
    effects = [_followed(effect, later) for effect in _effects(loc, entry, plans)]
    names = {name for effect in effects for name in effect.names}
    touching = tuple(e for e in later if names & {c.name for c in e.changes})
    plan = PolicyUpdatePlan(
        items=tuple(_items(loc, tip, effects, touching)),
        subject=_subject(_title(loc, entry, plans)),
        rationale=f"A person undid plan {', '.join(plans)} (commit {entry.commit}).",
        base_commit=tip,
        store_id=loc.config.id,
        learner=events.PERSON,
        reverts=plans,
        reverts_events=tuple(dict.fromkeys(line.last_event(p) for p in plans)),
    )
    if not plan.items:
        raise RefusedError(
            f"nothing is left of {entry.commit[:12]} to undo: later commits took it away",
            hint="xp log lists them",
        )
    return RevertResult(plan, entry, touching)


def _target(loc: Location, line: Timeline, target: str, branch: str) -> tuple[int, tuple[str, ...]]:
    """Return the place of the target in the timeline, and the plans that change their state with it."""
    commit_id = history.find_commit(loc, target, within=branch)
    found = [i for i, moment in enumerate(line.moments) if moment.entry.commit == commit_id]
    if not found:
        raise NotFoundError(
            f"{target} ({commit_id[:12]}) is not in the history of {branch}", hint=f"xp log {branch} lists it"
        )
    moment = line.moments[found[-1]]
    own = moment.entry.plan_ids
    named = [p for p in own if p.startswith(target.strip())]
    # without a plan of its own it is a plain `git revert`: undoing that one brings its plans back
    plans = named or own or [t for t in moment.targets if t in line.learners]
    if not plans:
        raise UsageError(f"{commit_id[:12]} is no plan but a person's commit", hint="git revert undoes it")
    open_ = tuple(p for p in plans if line.is_active(p) is bool(own))
    if not open_:
        event = line.last_event(plans[0])
        raise RefusedError(
            f"{target} is undone already, by commit {event[:12]}",
            hint=f"xp revert {event[:12]} brings it back",
        )
    return found[-1], open_


def _since(line: Timeline, at: int) -> list[Entry]:
    """Return the first-parent events after one; the merge that brought it is part of it."""
    later = list(line.moments[at + 1 :])
    if line.moments[at].side:
        while later.pop(0).side:
            pass
    return [moment.entry for moment in later if not moment.side]


def _effects(loc: Location, entry: Entry, plans: Sequence[str]) -> Iterator[_Effect]:
    if len(entry.stamps) > 1 and set(plans) < set(entry.plan_ids):
        for plan_id in plans:  # one plan of a squash: the commit's diff has those of the others too
            yield from _recorded(loc, plan_id)
        return
    for change in entry.changes:
        before, after = _text(loc, change.before), _text(loc, change.after)
        if change.old_name != change.name:
            yield _effect(change.old_name, before, None)
            before = None
        yield _effect(change.name, before, after)


def _recorded(loc: Location, plan_id: str) -> Iterator[_Effect]:
    """Read a plan's own effect from its record and, where the blobs are gone, from its patches."""
    texts: dict[str, str | None] = {NOTHING: None}
    for name, data in evidence.patches(loc, plan_id).items():
        gradient = read_patch(data, name)
        for file in (gradient.before_file, gradient.after_file):
            if file:
                texts[blob_id(file.content)] = file.content
    found = False
    for record in evidence.records(loc, plan_id).values():
        items = record.get("items")
        for item in items if isinstance(items, list) else ():
            blobs = [str(item["base_blob"]), str(item["result_blob"])]
            missing = [b for b in blobs if b not in texts and not loc.repo.has(b)]
            if missing:
                raise NotFoundError(
                    f"the texts of plan {plan_id} are no longer here (blob {missing[0][:12]})",
                    hint="revert the squashed commit as a whole",
                )
            before, after = (texts[b] if b in texts else _text(loc, b) for b in blobs)
            yield _effect(str(item["target_experience_name"]), before, after)
            found = True
        if found:
            return
    raise NotFoundError(f"there is no record of plan {plan_id}", hint="fetch the evidence branch")


def _effect(name: str, before: str | None, after: str | None) -> _Effect:
    return _Effect(name, frozenset({name}), before, after)


def _followed(effect: _Effect, later: Sequence[Entry]) -> _Effect:
    """Follow the experience through the renames since."""
    for entry in later:
        for change in entry.changes:
            if change.kind == "R" and change.old_name == effect.name:
                effect = replace(effect, name=change.name, names=effect.names | {change.name})
                break
    return effect


def _items(
    loc: Location, tip: str, effects: Sequence[_Effect], later: Sequence[Entry]
) -> Iterator[PolicyPlanItem]:
    conflicts = []
    here = loc.at(tip)
    tree = loc.repo.commit(tip).tree
    for effect in effects:
        entry = loc.repo.entry(tree, here.in_tree(experience_uri(effect.name)))
        ours = _text(loc, entry.id) if entry and entry.is_file else None
        if ours is None and effect.after is not None:
            continue  # the file is gone, and with it what the plan did
        result = merge(effect.after, ours, effect.before, experience_uri(effect.name))
        if result.verdict == "REFUSED" or result.overlaps:
            conflicts.append(Conflict(effect.name, effect.after, ours, effect.before))
        elif result.text != ours:
            yield PolicyPlanItem(
                kind="delete_experience" if result.text is None else "upsert_experience",
                target_experience_name=effect.name,
                before_content=ours,
                after_content=result.text,
            )
    if conflicts:
        names = ", ".join(c.name for c in conflicts)
        by = "; ".join(f"{e.commit[:12]} {e.subject}" for e in later) or "the branch itself"
        raise ConflictError(
            f"later changes to {names} build on it: {by}",
            tuple(conflicts),
            hint="revert those first, or edit the page by hand",
        )


def _title(loc: Location, entry: Entry, plans: Sequence[str]) -> str:
    """Return the subject of what is undone; one plan of a squash has its own on record."""
    if len(plans) == 1 and len(entry.plan_ids) > 1:
        subjects = [r.get("subject") for r in evidence.records(loc, plans[0]).values()]
        return next((s for s in subjects if isinstance(s, str) and s), entry.subject)
    return entry.subject


def _subject(title: str) -> str:
    again = re.fullmatch(r'(Revert|Reapply) "(.*)"', title)
    if again is None:
        return f'Revert "{title}"'
    return f'Reapply "{again[2]}"' if again[1] == "Revert" else f'Revert "{again[2]}"'


def _text(loc: Location, blob: str) -> str | None:
    if blob in {"", NOTHING}:
        return None
    try:
        return loc.repo.blob(blob).decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"blob {blob[:12]} is not UTF-8", hint="convert the file first") from error
